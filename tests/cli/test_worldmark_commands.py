# SPDX-License-Identifier: Apache-2.0
"""The commands that WorldMark brings: sweep, caches, board --by, world --evidence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from wmb_fast import cli


@pytest.fixture
def wmb(capsys):
    """Calls the command line in this process: (exit code, stdout, stderr)."""

    def call(*arguments):
        code = cli.answer([str(a) for a in arguments])
        told = capsys.readouterr()
        return code, told.out, told.err

    return call


def put_cache(folder: Path, model: str, action: str, keys: str, seed: int) -> None:
    """A published flow cache of a rollout that follows its keys, with noise."""
    rng = np.random.default_rng(seed)
    n = 320 * len(keys) - 2
    sign = np.repeat([1.0 if key in "WAL" else -1.0 for key in keys], 320)[:n]
    own = 4 * sign + rng.normal(0, 0.4 * (seed + 1), n)
    other = rng.normal(0, 0.3, n)
    horizontal, radial = (other, own) if keys[0] in "WS" else (own, other)
    arrays = {"tm": np.arange(n) / 16, "Sx": horizontal, "Srad": radial, "keys": np.array(list(keys))}
    np.savez(folder / f"{model}__000_{action}.npz", action=int(action), px_segs=np.empty(0, np.int64), **arrays)


@pytest.fixture
def scored(wmb, tmp_path) -> Path:
    folder = tmp_path / "flow"
    folder.mkdir()
    for seed, model in enumerate(("a", "b", "c")):
        put_cache(folder, model, "001", "W", seed)
        put_cache(folder, model, "011", "WSW", seed + 3)
    code, _, _ = wmb("score", folder, "--protocol", "worldmark", "-o", tmp_path / "out", "--cache", tmp_path / "c")
    assert code == 0
    return tmp_path / "out"


def test_sweep_prints_a_line_a_constant_and_writes_both_files(wmb, scored):
    code, out, _ = wmb("sweep", scored)
    assert code == 0
    for label in ("Local: mutation thr", "Stability: min stall dur (s)", "Latency: gate factor", "Global: scale"):
        assert label in out
    assert "6 rollouts of 3 models" in out
    assert "The leaderboard is the mean of 4 of the 13 columns: DA_t, MP_t, MS_t, RL_t." in out
    assert "67 settings in" in out
    swept = json.loads((scored / "sweep.json").read_text())
    assert next(row["name"] for row in swept["rows"] if row["in_board"]) == "normal_speed_percentile"
    assert sum(row["in_board"] for row in swept["rows"]) == 13
    assert (scored / "sweep.md").read_text().startswith("# worldmark: the scoring constants moved one at a time")


def test_sweep_of_nothing_is_one_sentence(wmb, tmp_path):
    code, out, err = wmb("sweep", tmp_path)
    assert (code, out) == (2, "")
    assert err.startswith("board: folders must hold a scorecard.jsonl, got ")


def test_board_by_tier(wmb, scored):
    code, out, _ = wmb("board", scored, "--by", "tier")
    assert code == 0
    assert out.index("## easy\n") < out.index("## hard\n") < out.index("## easy to hard")
    assert "models that get worse" in out
    code, out, _ = wmb("board", scored, "--by", "tier", "--json")
    plain = json.loads(out)["worldmark"]
    assert list(plain["values"]) == ["easy", "hard"]
    assert {c["column"]: c["n_models"] for c in plain["changes"]}["DA_t"] == 3
    code, _, err = wmb("board", scored, "--by", "moon")
    assert (code, err) == (2, "board: --by must be one of split, tier, got 'moon'\n")
    code, _, err = wmb("board", scored, "--by", "tier", "--compare", "a", "b")
    assert (code, err) == (2, "board: --by must stand without --compare, got 'tier'\n")


def test_caches_are_written_and_what_has_none_is_told(wmb, scored, tmp_path):
    code, out, err = wmb("caches", tmp_path / "flow", "-o", tmp_path / "back", "--cache", tmp_path / "c")
    assert (code, err) == (0, "")
    assert sorted(Path(line).name for line in out.splitlines()) == sorted(
        path.name for path in (tmp_path / "flow").iterdir()
    )
    put_cache(tmp_path / "flow", "d", "002", "W", 0)  # its keys are another action's
    code, _, err = wmb("caches", tmp_path / "flow", "-o", tmp_path / "again", "--cache", tmp_path / "c")
    assert code == 1
    assert err.startswith("flow/d__000_002: gather: d__000_002.npz must hold the keys of its action")


def test_a_world_hands_in_its_exact_depth_and_cameras(wmb, tmp_path):
    arguments = ("--seconds", "4", "--size", "160x96", "-o", tmp_path / "w")
    code, out, _ = wmb("world", "worldmark/07", "--evidence", *arguments)
    assert code == 0
    handed_in = [line.rsplit("/", 1)[-1] for line in out.splitlines() if line.startswith("exact  ")]
    assert len(handed_in) == 8
    assert {"geometry.npz", "depth.npz"} <= {name.split(".", 1)[-1] for name in handed_in}
    code, out, _ = wmb("score", tmp_path / "w" / "manifest.json", "--protocol", "worldmark", "-o", tmp_path / "o",
                       "--cache", tmp_path / "c")  # fmt: skip
    records = [json.loads(line) for line in (tmp_path / "o" / "scorecard.jsonl").read_text().splitlines()]
    values = {(r["metric"], r["part"].get("segment")): r for r in records}
    assert values["global_memory", None]["value"] > 80
    assert values["global_memory", None]["estimators"][0]["id"] == "known-answer-world"
    for segment in (0, 1):
        accuracy = values["direction_accuracy", segment]
        assert accuracy["value"] > 0.5
        assert [m["role"] for m in accuracy["estimators"]] == ["flow", "flow_fields", "depth"]


def test_a_compat_board_without_a_model_says_so(wmb, tmp_path):
    folder = tmp_path / "flow"
    folder.mkdir()
    put_cache(folder, "Genie3", "001", "W", 1)
    code, out, _ = wmb("score", folder, "--protocol", "worldmark", "--compat", "-o", tmp_path / "o", "--cache",
                       tmp_path / "c")  # fmt: skip
    assert code == 0
    assert "The published board leaves all of these models out" in out
    put_cache(folder, "Yume", "001", "W", 1)
    wmb("score", folder, "--protocol", "worldmark", "--compat", "-o", tmp_path / "o", "--cache", tmp_path / "c")
    _, out, _ = wmb("board", tmp_path / "o")
    assert "Yume 1.5" in out
    assert "Genie3" not in out
