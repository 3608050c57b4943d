# SPDX-License-Identifier: Apache-2.0
"""The sweep: every constant shows where it must, nothing else moves, and what is written does not depend on the run."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import wmb_fast as wmb
from wmb_fast import run
from wmb_fast.protocols import worldmark
from wmb_fast.protocols.evidence import Channel, Evidence, Maker
from wmb_fast.protocols.record import Score
from wmb_fast.rollout.plan import Facts
from wmb_fast.rollout.plans import named_plan
from wmb_fast.run import curves, files

N = 640


def rollout(model: str, number: int, action: int, seed: int) -> Evidence:
    """A rollout that follows its plan badly in its own way: noise, stalls, decay, lateness, mutations, a cut."""
    rng = np.random.default_rng(seed)
    keys = worldmark.SEQUENCES[action]
    n = 320 * len(keys)
    whole = np.zeros(n)
    for j, key in enumerate(keys):
        late, sign = int(rng.integers(0, 100)), 1 if key in "WAL" else -1
        whole[j * 320 + late : (j + 1) * 320] = sign * 4 * np.linspace(1, rng.uniform(0.3, 1.2), 320)[late:]
    if seed % 10 == 1:  # sets out and then barely goes on: near the gate of a response
        whole[320:] = np.where(np.arange(n - 320) < 60, -4.0, -0.44)
    signal = whole[: n - 2]
    for _ in range(6):
        at = int(rng.integers(0, n - 20))
        signal[at : at + int(rng.integers(2, 12))] *= rng.uniform(0, 0.5)
    signal += rng.normal(0, 0.8, n - 2)
    other = rng.normal(0, 0.3, n - 2)
    horizontal, radial = (other, signal) if keys[0] in "WS" else (signal, other)
    walk = np.cumsum(rng.normal(0, 0.012, (n, 16)), axis=0) + 1
    for _ in range(4):
        walk[int(rng.integers(n)) :] += rng.normal(0, 0.6, 16)
    features = (walk / np.linalg.norm(walk, axis=1, keepdims=True)).astype(np.float32)
    cut = np.array([int(rng.integers(50, n - 50))]) if seed % 5 == 0 else np.empty(0, np.int64)
    k = len(worldmark.global_frames(n, 16.0))
    depth = (3 + rng.normal(0, 0.1 + 0.05 * (seed % 5), (k, 48, 64))).astype(np.float32)
    camera = np.array([[50.0, 0, 31.5], [0, 50, 23.5], [0, 0, 1]])
    geometry = {"frames": np.array(worldmark.global_frames(n, 16.0)), "depth": depth}
    geometry |= {"cam_from_world": np.tile(np.eye(4)[:3], (k, 1, 1)), "intrinsics": np.tile(camera, (k, 1, 1))}
    inverse = rng.uniform(0.1, 1, 200)
    turning = keys[0] in "LR"
    parallax: dict[str, object] = {"segments": list(range(len(keys)))}
    for j in range(len(keys)):
        parallax |= {f"inverse_depth_{j}": inverse, f"flow_{j}": np.full(200, 3.0) if turning else 3 * inverse}
    made = {
        "flow": {"horizontal": horizontal, "radial": radial, "stride": 2, "grid": (640, 432)},
        "cuts": {"frames": cut, "n_scenes": len(cut) + 1},
        "features": {"frames": np.arange(n), "mean": features},
        "geometry": geometry,
        "parallax": parallax,
        "quality": {"quality": rng.uniform(2, 5), "aesthetic": rng.uniform(1, 4)},
    }
    channels = {name: Channel(values, Maker(name, "x", "external", "1")) for name, values in made.items()}
    name = f"{model}/{number:03d}_{action:03d}"
    facts = Facts(name, model, name.split("/")[1], named_plan(f"worldmark/{action}"), n, 16.0, 640, 432)
    return Evidence(facts, channels)


@pytest.fixture(scope="module")
def evidence() -> list[Evidence]:
    actions = (6, 7, 8, 12)
    return [rollout(f"m{m}", i, action, 10 * m + i) for m in range(4) for i, action in enumerate(actions)]


def write_run(out: Path, evidence: list[Evidence], compat: bool = False) -> list[Score]:
    """A run folder as scoring leaves it."""
    files.writable_folder("out", out)
    scores = worldmark.score(evidence, compat=compat)
    (out / "scorecard.jsonl").write_text("".join(score.to_json() + "\n" for score in scores))
    for one in evidence:
        curves.keep(out, one.facts.rollout, worldmark.curves(one, compat=compat))
    return scores


@pytest.mark.parametrize("compat", [False, True])
def test_every_constant_shows_in_its_own_columns_and_in_no_other(evidence: list[Evidence], compat: bool) -> None:
    scores = worldmark.score(evidence, compat=compat)
    kept = {one.facts.rollout: worldmark.curves(one, compat=compat) for one in evidence}
    rescorer = worldmark.Rescorer(scores, kept)
    assert rescorer(worldmark.PUBLISHED) == scores
    base = worldmark.leaderboard(scores)
    assert not any(np.isnan(value) for row in base.values() for value in row.values())
    assert list(worldmark.SWEPT) == [f.name for f in fields(worldmark.Thresholds)]
    assert len(worldmark.SWEPT) == 17
    for name, swept in worldmark.SWEPT.items():
        assert 3 <= len(swept.settings) <= 5
        default = getattr(worldmark.PUBLISHED, name)
        assert min(swept.settings) < default < max(swept.settings)
        changed: set[str] = set()
        for setting in (swept.settings[0], swept.settings[-1]):
            thresholds = worldmark.moved(name, setting)
            rows = worldmark.leaderboard(rescorer(thresholds), columns=worldmark.columns(thresholds))
            changed |= {c for model in base for c in base[model] if base[model][c] != rows[model][c]}
        own = set(worldmark.COLUMNS_OF[swept.metric])
        assert changed <= own, name
        # A ratio above the cap is above the target too, where the score no longer grows: the cap cannot show.
        assert bool(changed) == (name != "decay_cap"), f"{name} shows in {changed}"


def test_rescoring_is_scoring_with_these_constants(evidence: list[Evidence], monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the constants changed in place, everything made anew from the evidence."""
    evidence = evidence[:3]
    scores = worldmark.score(evidence)
    rescorer = worldmark.Rescorer(scores, {one.facts.rollout: worldmark.curves(one) for one in evidence})
    for name, swept in worldmark.SWEPT.items():
        again = rescorer(worldmark.moved(name, swept.settings[0]), (swept.metric,))
        with monkeypatch.context() as patch:
            patch.setitem(vars(worldmark.PUBLISHED), name, swept.settings[0])
            if name.endswith("_scale") and swept.metric in ("global_memory", "revisit_memory"):
                continue  # default arguments: held when the function was made
            anew = worldmark.score(evidence)
        assert [(a.metric, a.value) for a in again] == [(b.metric, b.value) for b in anew], name


def test_the_sweep_of_a_run(evidence: list[Evidence], tmp_path: Path) -> None:
    write_run(tmp_path / "a", evidence)
    found = run.sweep([tmp_path / "a"])
    assert (found.n_rollouts, len(found.columns), len(found.rows)) == (16, 13, 17)
    assert list(found.leaderboard.values()) == sorted(found.leaderboard.values(), reverse=True)
    written = [(tmp_path / "a" / name).read_bytes() for name in ("sweep.json", "sweep.md")]
    plain = json.loads(written[0], parse_constant=lambda token: pytest.fail(token))
    assert len(plain["rows"]) == 17
    assert "Stability: min stall dur (s)" in written[1].decode()
    write_run(tmp_path / "b", evidence[:8])
    write_run(tmp_path / "c", evidence[8:])
    assert run.sweep([tmp_path / "c", tmp_path / "b"]) == found
    assert [(tmp_path / "c" / name).read_bytes() for name in ("sweep.json", "sweep.md")] == written


def test_under_compat_names_and_models_are_the_published_ones(evidence: list[Evidence], tmp_path: Path) -> None:
    names = {"m0": "Yume", "m1": "Genie3", "m2": "HY-World", "m3": "mine"}
    named = [replace(e, facts=replace(e.facts, model=names[str(e.facts.model)])) for e in evidence]
    write_run(tmp_path, named, compat=True)
    found = run.sweep([tmp_path])
    assert sorted(found.leaderboard) == ["HY-World 1.5", "Yume 1.5", "mine"]
    tables = run.boards(run.read_scorecards([tmp_path]))
    assert [row.model for row in tables[0].rows] == ["HY-World 1.5", "Yume 1.5", "mine"]


def test_columns_that_a_model_lacks_are_left_out_and_told(evidence: list[Evidence], tmp_path: Path) -> None:
    def without_quality(e: Evidence) -> Evidence:
        return replace(e, channels={k: v for k, v in e.channels.items() if k != "quality"})

    write_run(tmp_path, [without_quality(e) if e.facts.model == "m1" else e for e in evidence])
    found = run.sweep([tmp_path])
    assert found.left_out == {"QA_q": ["m1"], "QA_a": ["m1"]}
    assert len(found.columns) == 11
    assert "QA_q, QA_a" in (tmp_path / "sweep.md").read_text()


def test_what_cannot_be_swept_is_one_sentence(evidence: list[Evidence], tmp_path: Path) -> None:
    with pytest.raises(wmb.ArgumentError, match=r"hold a scorecard\.jsonl"):
        run.sweep([tmp_path / "nothing"])
    scores = write_run(tmp_path / "a", evidence[:2])
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "scorecard.jsonl").write_bytes((tmp_path / "a" / "scorecard.jsonl").read_bytes())
    with pytest.raises(wmb.ArgumentError, match=r"the flow of every rollout \(score it again\), got none of m0/0"):
        run.sweep([bare])
    with pytest.raises(wmb.ArgumentError, match="be one of mutation_distance"):
        worldmark.moved("luck", 1.0)
    other = replace(next(s for s in scores if s.metric == "motion_stability"), value=0.123)
    lines = [other.to_json() if (s.rollout, s.metric, s.part) == (other.rollout, other.metric, other.part)
             else s.to_json() for s in scores]  # fmt: skip
    (tmp_path / "a" / "scorecard.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.raises(wmb.ArgumentError, match=r"give their own scores back \(score them again\), got motion_"):
        run.sweep([tmp_path / "a"])
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "scorecard.jsonl").touch()
    with pytest.raises(wmb.ArgumentError, match="sweep: folders must hold records of worldmark, got none"):
        run.sweep([empty])


def test_tiers_and_splits(evidence: list[Evidence]) -> None:
    scores = worldmark.score(evidence)
    [(name, labels, tables)] = run.grouped(scores, "tier")
    assert (name, list(tables)) == ("worldmark", ["medium", "hard"])
    assert tables["hard"].rows[0].n_rollouts == 1
    assert tables["medium"].rows[0].n_rollouts == 3
    found = {c.column: c for c in wmb_board_changes(tables, labels)}
    medium, hard = ([row.cells["Rev"].value for row in tables[tier].rows] for tier in ("medium", "hard"))
    assert found["Rev"].first == pytest.approx(np.mean(medium))
    assert found["Rev"].n_worse == sum(b < a for a, b in zip(medium, hard, strict=True))
    [(_, _, splits)] = run.grouped(scores, "split")
    assert list(splits) == ["not known"]
    cases = ("first_view/real/000_006", "third_view/style/000_006")
    moved = [replace(s, case=cases[s.model in ("m0", "m1")]) for s in scores]
    [(_, _, splits)] = run.grouped(moved, "split")
    assert list(splits) == ["first-person real", "third-person stylized"]
    with pytest.raises(wmb.ArgumentError, match="--by must be one of split, tier, got 'colour'"):
        run.grouped(scores, "colour")


def wmb_board_changes(tables, labels):
    from wmb_fast.board import changes

    return changes(tables, labels)
