# SPDX-License-Identifier: Apache-2.0
"""A process that fetches the small model: ``fetching.py LOG load|hang|go``; each download adds a line to LOG.

It hangs while it downloads, while it converts, or not at all.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from estimators import nets

from wmb_fast.estimators import fetch
from wmb_fast.estimators.home import ModelHome

if __name__ == "__main__":
    log, how = Path(sys.argv[1]), sys.argv[2]

    def downloaded(asked: object, folder: object) -> bytes:
        with log.open("a") as file:
            file.write(f"{asked}\n")
        if how == "load":
            print("loading", flush=True)
            time.sleep(600)
        time.sleep(0.5)
        return nets.archive()

    def converter(self: nets.SmallModel) -> object:
        def convert(*contents: bytes) -> bytes:
            print("converting", flush=True)
            if how == "hang":
                time.sleep(600)
            return nets.network()

        return convert

    fetch._downloaded = downloaded  # type: ignore[assignment]
    nets.SmallModel.converter = converter  # type: ignore[method-assign,assignment]
    print(fetch.fetch(nets.model(), ModelHome(), lambda text: None).sha256, flush=True)
