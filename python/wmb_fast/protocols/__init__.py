# SPDX-License-Identifier: Apache-2.0
"""The benchmarks' arithmetic: pure functions of evidence. No file is opened here, no network run."""
