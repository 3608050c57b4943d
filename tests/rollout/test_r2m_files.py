# SPDX-License-Identifier: Apache-2.0
"""R2M-Bench's pair files and results files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wmb_fast._walls.errors import FileFormatError
from wmb_fast.rollout.r2m_files import read_pairs, read_results, write_pairs

PAIRS = {"revisit": [[1, 40], [2, 39]], "baseline": [[3, 30]], "short": []}


def test_pairs_come_back(tmp_path: Path) -> None:
    write_pairs(tmp_path / "a.json", PAIRS, {"seed": 42})
    found, meta = read_pairs(tmp_path / "a.json")
    assert found == {"revisit": [(1, 40), (2, 39)], "baseline": [(3, 30)], "short": []}
    assert meta == {"seed": 42}
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([1], "a file of pairs must map revisit, baseline, short to pairs, got list"),
        ({"revisit": [], "short": []}, "baseline must be a list of pairs, got NoneType"),
        ({**PAIRS, "short": [[1, 2, 3]]}, r"short must hold pairs of frame numbers, got \[1, 2, 3\]"),
        ({**PAIRS, "revisit": [[1, -2]]}, r"revisit must hold pairs of frame numbers, got \[1, -2\]"),
        ({**PAIRS, "revisit": [[True, 2]]}, "revisit must hold pairs"),
        ({**PAIRS, "revisit": [[0.5, 2]]}, "revisit must hold pairs"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: object, said: str) -> None:
    (tmp_path / "a.json").write_text(json.dumps(content))
    with pytest.raises(FileFormatError, match=f"^read_pairs: {said}"):
        read_pairs(tmp_path / "a.json")


def test_results_by_family_and_task(tmp_path: Path) -> None:
    for family, shard in (("appearance", 0), ("appearance", 10), ("appearance", 2), ("geometric", 0)):
        path = tmp_path / family / "m_DDDAAA_30s" / f"shard_{shard}" / "results.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"per_video": {f"v{shard}": {}}, "global_summary": {}}))
    found = read_results(tmp_path)
    assert [list(shard) for shard in found["appearance"]["m_DDDAAA_30s"]] == [["v0"], ["v2"], ["v10"]]
    assert list(found) == ["appearance", "geometric"]
    with pytest.raises(FileFormatError, match=r"^read_results: folder must hold .*, got none"):
        read_results(tmp_path / "appearance")
    (tmp_path / "geometric/m_DDDAAA_30s/shard_0/results.json").write_text("{}")
    with pytest.raises(FileFormatError, match=r"^read_results: a results file must hold per_video"):
        read_results(tmp_path)
