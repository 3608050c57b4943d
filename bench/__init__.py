# SPDX-License-Identifier: Apache-2.0
"""Measures the library against its rivals and the machine's own limits: ``python -m bench [OP ...] [--full]``.

Each ``bench_<op>.py`` has one function ``cases(full)`` that yields :class:`bench._harness.Case` objects; ``_harness``
verifies and times them, ``_rivals`` holds one small adapter a rival.
"""
