# SPDX-License-Identifier: Apache-2.0
import sys

from .runner import main

sys.exit(main(sys.argv[1:]))
