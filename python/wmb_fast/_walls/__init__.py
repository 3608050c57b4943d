# SPDX-License-Identifier: Apache-2.0
"""What stands between a caller and the core: arrays, checks, dispatch, errors, extension modules. Each in one place."""
