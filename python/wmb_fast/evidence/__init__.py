# SPDX-License-Identifier: Apache-2.0
"""What is known of a rollout: made by estimators or handed in, computed once, kept on disk, verified when read."""
