# SPDX-License-Identifier: Apache-2.0
"""R2M-Bench's pair files and results files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wmb_fast._walls.errors import FileFormatError
from wmb_fast.rollout.discover import find_rollouts
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


def tasks(folder: Path, *lines: str) -> Path:
    for video in ("loop/a.mp4", "loop/b.mp4", "each/0/gen.mp4", "each/1/output.mp4", "each/1/other.mp4"):
        (folder / video).parent.mkdir(parents=True, exist_ok=True)
        (folder / video).touch()
    (folder / "run.conf").write_text("\n".join(lines))
    return folder / "run.conf"


def test_tasks_of_the_published_evaluator(tmp_path: Path) -> None:
    path = tasks(
        tmp_path,
        "# a comment",
        "GPUS=0,1",
        "TASK=sana_wm_revisit_loop_30s|loop|poses/loop.json",
        'TASK="mine|each|poses/out.json"',
    )
    found = {rollout.id: rollout for rollout in find_rollouts(path)}
    assert list(found) == ["mine/0", "mine/1", "sana_wm_revisit_loop_30s/a", "sana_wm_revisit_loop_30s/b"]
    loop = found["sana_wm_revisit_loop_30s/a"]
    assert (loop.model, loop.case, loop.plan, loop.poses) == ("sana_wm", "a", None, tmp_path / "poses/loop.json")
    assert found["mine/1"].video_path == tmp_path / "each/1/output.mp4"
    assert found["mine/1"].model == "mine"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("TASK=a|loop", "line 1 must be TASK=<name>|<folder of videos>|<pose JSON>, got 'TASK=a|loop'"),
        ("TASK=a|nowhere|p.json", "line 1 must name a folder with videos, got nowhere"),
        ("GPUS=0", "a configuration must hold a line TASK=<name>|<folder of videos>|<pose JSON>, got none"),
    ],
)
def test_tasks_with_something_wrong(tmp_path: Path, line: str, said: str) -> None:
    with pytest.raises(FileFormatError) as error:
        find_rollouts(tasks(tmp_path, line))
    assert str(error.value).startswith(f"find_rollouts: {said}")


def test_numbers_that_are_not_finite_are_null(tmp_path: Path) -> None:
    write_pairs(tmp_path / "a.json", PAIRS, {"stats": {"mean": float("nan"), "n": 3}})
    assert read_pairs(tmp_path / "a.json")[1] == {"stats": {"mean": None, "n": 3}}
