# SPDX-License-Identifier: Apache-2.0
"""``python -m wmb_fast`` is ``wmb-fast``."""

from .cli import main

main()
