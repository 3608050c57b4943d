# SPDX-License-Identifier: Apache-2.0
"""Published flow caches: scored like the videos they are of, and written so that nothing changes on the way."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from wmb_fast import run
from wmb_fast.evidence.make import gather
from wmb_fast.evidence.store import Store
from wmb_fast.protocols import worldmark
from wmb_fast.protocols.record import Status
from wmb_fast.rollout.discover import find_rollouts

RNG = np.random.default_rng(0)


def arrays(action: int = 7, n: int = 638, **changes: object) -> dict[str, object]:
    """A cache as the published evaluator writes it."""
    keys = worldmark.SEQUENCES[action]
    made: dict[str, object] = {
        "tm": np.arange(n) / 16,
        "Sx": np.where(np.arange(n) < n / 2, 4.0, -4.0) + RNG.normal(0, 0.1, n),
        "Srad": RNG.normal(0, 0.2, n),
        "keys": np.array(list(keys)),
        "action": np.array(action),
        "px_segs": np.arange(len(keys)) if keys[0] in "LRAD" else np.empty(0, dtype=np.int64),
    }
    for j in np.asarray(made["px_segs"]).tolist():
        made |= {f"iv_{j}": RNG.uniform(0.1, 1, 50).astype(np.float32), f"uu_{j}": np.full(50, 4, np.float32)}
    return made | changes


def put(folder: Path, name: str = "HY-World__016_007", **changes: object) -> Path:
    folder.mkdir(exist_ok=True)
    np.savez(folder / f"{name}.npz", **arrays(**changes))  # type: ignore[arg-type]
    return folder / f"{name}.npz"


def test_a_cache_is_scored_and_comes_back_as_it_was(tmp_path: Path) -> None:
    path = put(tmp_path / "flow")
    for compat in (True, False):
        outcome = run.score([tmp_path / "flow"], ["worldmark"], out=tmp_path / f"o{compat}", cache=tmp_path / "c",
                            compat=compat)  # fmt: skip
        values = {s.metric: s for s in outcome.scores}
        assert values["direction_accuracy"].value is not None
        assert values["direction_accuracy"].value > 0.9
        assert values["response_latency"].status is Status.OK
        lacking = "features" if compat else "cuts"
        assert values["local_memory"].reason.startswith(f"{lacking}: a flow cache has no frames to make it of")
        assert {s.model for s in outcome.scores} == {"HY-World"}
        again = run.score([path], ["worldmark"], out=tmp_path / f"o{compat}", cache=tmp_path / "c", compat=compat)
        assert list(again.scores) == list(outcome.scores)
    written, refused = run.write_caches([path], out=tmp_path / "back", cache=tmp_path / "c")
    assert (refused, [p.name for p in written]) == ({}, ["HY-World__016_007.npz"])
    with np.load(path) as before, np.load(written[0]) as after:
        assert set(after.files) == {*before.files, "estimator"}
        for name in before.files:
            np.testing.assert_array_equal(before[name], after[name])
            assert before[name].dtype == after[name].dtype
    twice, _ = run.write_caches(written, out=tmp_path / "twice", cache=tmp_path / "c")
    assert twice[0].read_bytes() == written[0].read_bytes()


def test_every_published_vector_reads_and_writes(oracles: Path, tmp_path: Path) -> None:
    """The vectors' inputs are caches: as files they give the numbers that the arrays give."""
    file = oracles / "A_worldmark" / "A1_flow_segments.json"
    stored = np.load(file.with_suffix(".npz"))
    tried = 0
    for i, case in enumerate(json.loads(file.read_text())["cases"]):
        inputs = {k: stored[v["$npz"]] if isinstance(v, dict) else v for k, v in case["inputs"].items()}
        if len(inputs["tm"]) < 3 or any(len(inputs[f"iv_{j}"]) == 0 for j in inputs["px_segs"]):
            continue
        path = tmp_path / f"m__{i:03d}_{inputs['action']:03d}.npz"
        np.savez(path, **{name: np.asarray(value) for name, value in inputs.items()})
        [rollout] = find_rollouts([path])
        evidence = gather(rollout, [worldmark], store=Store(tmp_path / "c"), compat=True)
        parallax = {j: (inputs[f"iv_{j}"], inputs[f"uu_{j}"]) for j in inputs["px_segs"]}
        published = worldmark.Timeline.published(np.arange(len(inputs["tm"])) / 16, len(inputs["keys"]))
        direct = worldmark.action_metrics(
            inputs["Sx"], inputs["Srad"], inputs["keys"], published, parallax=parallax, compat=True
        )
        for record in worldmark.score(evidence, compat=True):
            if record.metric in ("direction_accuracy", "direction_purity", "motion_stability", "response_latency"):
                measure = getattr(direct, record.metric)[record.part["segment"]]
                assert record.value == (None if measure.is_nan else measure.value)
        back = worldmark.flow_cache(evidence)
        for name, value in inputs.items():
            if name != "tm":  # some vectors have other times; a video's are always i / 16
                np.testing.assert_array_equal(back[name], np.asarray(value))
        tried += 1
    assert tried > 25


def test_other_channels_lie_beside_it(tmp_path: Path) -> None:
    path = put(tmp_path)
    np.savez(tmp_path / "HY-World__016_007.quality.npz", quality=4.0, aesthetic=2.0)
    features = np.tile(np.float32([1, 0]), (640, 1))
    np.savez(tmp_path / "HY-World__016_007.features.npz", frames=np.arange(640), mean=features)
    np.savez(tmp_path / "HY-World__016_007.cuts.npz", frames=np.empty(0, dtype=np.int64))
    np.savez(tmp_path / "HY-World__016_007.geometry.npz", frames=np.arange(3))
    [rollout] = find_rollouts([tmp_path])
    evidence = gather(rollout, [worldmark], store=Store(tmp_path / "c"))
    values = {r.metric: r for r in worldmark.score(evidence)}
    assert values["revisit_memory"].value == 100
    assert values["local_memory"].value == 100
    assert values["perceptual_quality"].value == 4
    assert values["global_memory"].reason.startswith("geometry: gather: HY-World__016_007.geometry.npz must hold")
    assert path.is_file()


def test_a_proxys_cache_stays_a_proxy(tmp_path: Path) -> None:
    for named, tier, proxy in (("opencv-dis builtin", "builtin", True), ("nobody knows", "external", False)):
        put(tmp_path / tier, estimator=np.array(named))
        [rollout] = find_rollouts([tmp_path / tier])
        evidence = gather(rollout, [worldmark], store=Store(tmp_path / "c"))
        assert evidence.channels["flow"].maker.tier == tier
        assert worldmark.score(evidence)[0].proxy is proxy


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"keys": np.array(["L", "X"])}, "must hold keys out of W, S, A, D, L, R, got 'LX'"),
        ({"keys": np.array(["W", "S"])}, "must hold the keys of its action, worldmark/7, got WS"),
        ({"Sx": np.zeros(5)}, r"must hold Sx like tm \(638,\), got \(5,\)"),
        ({"px_segs": np.array([5])}, "must hold iv_5 and uu_5 of one length"),
        ({"keys": np.array([{"W": 1}], dtype=object)}, "must be an npz of plain arrays"),
    ],
)
def test_a_broken_cache_is_one_failed_rollout(tmp_path: Path, changes: dict[str, object], says: str) -> None:
    put(tmp_path / "flow", **changes)
    put(tmp_path / "flow", "Yume__001_007")
    outcome = run.score([tmp_path / "flow"], ["worldmark"], out=tmp_path / "o", cache=tmp_path / "c")
    [failed] = [s for s in outcome.scores if s.status is Status.ERROR]
    assert re.search(says, failed.reason)
    assert any(s.value is not None for s in outcome.scores if s.model == "Yume")


def test_what_has_no_cache_is_told(tmp_path: Path) -> None:
    path = put(tmp_path / "flow")
    written, refused = run.write_caches([path], out=tmp_path / "o", plan="lrlr", cache=tmp_path / "c")
    assert written == []
    assert "keys of its action" in refused["flow/HY-World__016_007"]
