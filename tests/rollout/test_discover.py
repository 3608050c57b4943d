# SPDX-License-Identifier: Apache-2.0
"""From paths to rollouts: what is found, what its plan is, and how errors name what is wrong."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from wmb_fast import ArgumentError, FileFormatError
from wmb_fast.rollout.discover import Rollout, find_rollouts
from wmb_fast.rollout.plans import named_plan


def files(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return root


def ids(rollouts: list[Rollout]) -> list[str]:
    return [rollout.id for rollout in rollouts]


def test_the_real_clips_by_their_table(shared: Path) -> None:
    folder = shared / "data" / "rollouts" / "worldmark"
    table = json.loads((folder / "annotations.json").read_text())
    rollouts = find_rollouts(folder)
    assert ids(rollouts) == [f"worldmark/{stem}" for stem in sorted(table)]
    for rollout in rollouts:
        row = table[rollout.video_path.stem]
        assert rollout.plan is not None
        assert rollout.plan.name == f"worldmark/{row['action_id']}"
        assert rollout.plan.boundaries == (0, *row["segment_boundaries_frame"], row["frames"])
        assert rollout.plan.lay(row["frames"]).steps[-1].stop == row["frames"]
        assert (rollout.model, rollout.fps) == (row["model"], row["fps"])
        assert rollout.case == f"{row['input_image']}_{row['action_id']:03d}"
        assert rollout.plan_source == "inferred from the table annotations.json"
    assert find_rollouts(folder / "m6_good.mp4") == [r for r in rollouts if r.id.endswith("m6_good")]
    assert find_rollouts(folder / "annotations.json") == rollouts


def test_worldmark_layout(tmp_path: Path) -> None:
    root = files(
        tmp_path / "videos", "lyra-2/016_014.mp4", "HY-World/000_001.mp4", "HY-World/.000_002.mp4", "notes.txt"
    )
    rollouts = find_rollouts(root)
    assert ids(rollouts) == ["videos/HY-World/000_001", "videos/lyra-2/016_014"]
    assert [(r.model, r.case) for r in rollouts] == [("HY-World", "000_001"), ("lyra-2", "016_014")]
    assert [r.plan for r in rollouts] == [named_plan("W"), named_plan("ADA")]
    assert {r.plan_source for r in rollouts} == {"file name"}
    one = find_rollouts(root / "lyra-2")
    assert (one[0].id, one[0].model) == ("lyra-2/016_014", "lyra-2")
    assert find_rollouts([root / "lyra-2", root / "lyra-2" / "016_014.mp4"]) == one


def test_worldmembench_layout(tmp_path: Path) -> None:
    root = files(
        tmp_path / "data", "human/sana/lrud/case_001/video.mp4", "object/sana/lrlrlr_sym_1dpf/case_2/video.mp4"
    )
    rollouts = find_rollouts(root)
    assert [(r.model, r.case) for r in rollouts] == [
        ("sana", "human/lrud/case_001"),
        ("sana", "object/lrlrlr_sym_1dpf/case_2"),
    ]
    turning = replace(named_plan("lrlrlr"), degrees_per_frame=1.0)
    assert [r.plan for r in rollouts] == [named_plan("lrud"), turning]


def test_a_manifest_that_gives_the_plan_alone_leaves_model_and_case_to_the_name(tmp_path: Path) -> None:
    root = files(tmp_path, "human/sana/lr_hold_sym_0p5dpf/case_001/video.mp4")
    row = {"video": "human/sana/lr_hold_sym_0p5dpf/case_001/video.mp4", "plan": "lrud"}
    (root / "manifest.json").write_text(json.dumps([row]))
    [found] = find_rollouts(root / "manifest.json")
    assert (found.model, found.case) == ("sana", "human/lr_hold_sym_0p5dpf/case_001")
    assert (found.plan, found.plan_source) == (named_plan("lrud"), "manifest manifest.json")


def test_a02_names_that_do_not_fit(tmp_path: Path) -> None:
    root = files(tmp_path / "odd", "a.mp4", "b.webm", "c.gif", "d/e.mkv")
    with pytest.raises(ArgumentError) as caught:
        find_rollouts(root)
    text = str(caught.value)
    assert text.startswith("find_rollouts: paths must hold videos named like <model>/<image>_<action>.mp4")
    assert "<category>/<model>/<trajectory>/<case>/video.mp4" in text
    assert text.endswith("got a.mp4, b.webm, c.gif and 1 more")
    rollouts = find_rollouts(root, plan="WS")
    assert ids(rollouts) == ["odd/a", "odd/b", "odd/c", "odd/d/e"]
    assert [(r.model, r.case, r.plan_source) for r in rollouts][2:] == [(None, "c", "given"), ("d", "e", "given")]
    assert all(r.plan == named_plan("WS") for r in rollouts)


def test_a02_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(
        ArgumentError, match="find_rollouts: paths must hold videos or folders of frames, got none below"
    ):
        find_rollouts(files(tmp_path / "empty", "readme.txt"))
    with pytest.raises(ArgumentError, match=r"find_rollouts: paths must exist, got .*gone"):
        find_rollouts(tmp_path / "gone")
    with pytest.raises(ArgumentError, match="paths must name at least one video, folder or manifest, got none"):
        find_rollouts([])
    with pytest.raises(ArgumentError, match="named_plan: name must be one of"):
        find_rollouts(tmp_path / "empty", plan="loop")


def test_one_that_fits_is_enough_and_the_other_has_no_plan(tmp_path: Path) -> None:
    rollouts = find_rollouts(files(tmp_path / "m", "001_003.mp4", "extra.mp4"))
    assert [(r.id, r.plan is None, r.plan_source) for r in rollouts] == [
        ("m/001_003", False, "file name"),
        ("m/extra", True, None),
    ]


def test_folders_of_frames(tmp_path: Path) -> None:
    root = files(
        tmp_path / "f", "sana/016_014/1.png", "sana/016_014/2.png", "sana/clip/001_001.mp4", "sana/clip/first.jpg"
    )
    rollouts = find_rollouts(root, plan="W")
    assert ids(rollouts) == ["f/sana/016_014", "f/sana/clip/001_001"]
    assert rollouts[0].video_path == root / "sana" / "016_014"
    assert (rollouts[0].model, rollouts[0].case) == ("sana", "016_014")
    assert find_rollouts(root)[0].plan == named_plan("ADA")
    assert ids(find_rollouts(root / "sana" / "016_014")) == ["sana/016_014"]


def test_a_videos_folder_of_masks_is_no_rollout(tmp_path: Path) -> None:
    root = files(tmp_path / "v", "m/000_001.mp4", "m/000_001.tracks/0.png", "m/000_001.5/0.png", "m/b.tracks/0.png")
    assert ids(find_rollouts(root)) == ["v/m/000_001", "v/m/000_001.5", "v/m/b.tracks"]


@pytest.mark.parametrize("ending", ["csv", "json", "yaml"])
def test_manifests(tmp_path: Path, ending: str) -> None:
    root = files(tmp_path / "set", "v/a.mp4", "v/b.mp4", "v/c/1.png")
    (root / "mine.json").write_text('{"keys": "AD"}')
    path = root / f"list.{ending}"
    if ending == "csv":
        path.write_text(
            "video,model,case,plan,boundaries,fps,id\n"
            "v/a.mp4,M1,one,WS,0 10 30,,\n"
            "v/b.mp4,M2,one,mine.json,,,second\n"
            "v/c,M3,two,,,12.5,\n"
        )
    else:
        rows = [
            {"video": "v/a.mp4", "model": "M1", "case": "one", "plan": "WS", "boundaries": [0, 10, 30]},
            {"video": "v/b.mp4", "model": "M2", "case": "one", "plan": "mine.json", "id": "second"},
            {"video": "v/c", "model": "M3", "case": "two", "fps": 12.5},
        ]
        path.write_text(json.dumps({"rollouts": rows} if ending == "json" else rows))
    rollouts = find_rollouts(path)
    assert ids(rollouts) == ["second", "set/v/a", "set/v/c"]
    second, first, third = rollouts
    assert first.plan == named_plan("WS").realised([0, 10, 30])
    assert (first.model, first.case, first.fps, first.plan_source) == ("M1", "one", None, f"manifest list.{ending}")
    assert second.plan is not None
    assert second.plan.actions == named_plan("AD").actions
    assert (third.plan, third.fps, third.video_path) == (None, 12.5, root / "v" / "c")
    assert {r.plan for r in find_rollouts(path, plan="L" + "RL")} == {named_plan("worldmark/12")}


def test_manifests_found_in_folders(tmp_path: Path) -> None:
    root = files(tmp_path / "worlds", "good/video.mp4", "bad/video.mp4", "other/a.mp4")
    for name, plan in (("good", "WS"), ("bad", "LR")):
        (root / name / "manifest.json").write_text(json.dumps({"rollouts": [{"video": "video.mp4", "plan": plan}]}))
    (root / "other" / "manifest.json").write_text(json.dumps([{"file": "a.mp4", "size": 0}]))  # somebody else's
    rollouts = find_rollouts(root)
    assert [(r.id, r.model, r.case, r.plan and r.plan.name) for r in rollouts] == [
        ("worlds/bad/video", "bad", "video", "worldmark/7"),
        ("worlds/good/video", "good", "video", "worldmark/6"),
        ("worlds/other/a", "other", "a", None),
    ]
    rows = [{"video": "good/video.mp4", "plan": "AD", "model": "M"}]
    (root / "manifest.json").write_text(json.dumps(rows))  # what stands above wins
    assert [(r.model, r.plan and r.plan.name) for r in find_rollouts(root)][1] == ("M", "worldmark/8")
    (root / "manifest.json").write_text(json.dumps([*rows, {"video": "gone.mp4"}]))
    assert ids(find_rollouts(root)) == ["worlds/bad/video", "worlds/gone", "worlds/good/video", "worlds/other/a"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("video,modle\na.mp4,x\n", "row 1 must have no keys but id, video, .* got 'modle'"),
        ("model\nx\n", "row 1 must have a video, got none"),
        ("video,plan\na.mp4,loop\n", "row 1, plan must be possible, got named_plan: name must be one of"),
        ("video,plan,boundaries\na.mp4,WS,0 x\n", "row 1, boundaries must be a list of whole numbers, got '0 x'"),
        (
            "video,plan,boundaries\na.mp4,WS,9\n",
            "row 1, plan must be possible, got Plan: boundaries must be 2 first frames",
        ),
        ("video,boundaries\na.mp4,0 4\n", "row 1, boundaries must stand with a plan, got none"),
        ("video,fps\na.mp4,fast\n", "row 1, fps must be a number above 0, got 'fast'"),
        ("video,fps\na.mp4,0\n", "row 1, fps must be a number above 0, got '0'"),
        ("video,plan\na.mp4\n", "line 2 must have the header's 2 cells, got 1"),
        ("video,video\na.mp4,a.mp4\n", "key 'video' must stand once, got it twice"),
        ("video,plan\na.mp4,p.json\n", None),
    ],
)
def test_manifests_with_something_wrong(tmp_path: Path, text: str, sentence: str | None) -> None:
    path = files(tmp_path, "a.mp4") / "list.csv"
    path.write_text(text)
    whole = (
        f"^find_rollouts: {sentence}.*list.csv$"
        if sentence
        else "^read_plan: file must be readable text, got .*p.json$"
    )
    with pytest.raises(FileFormatError, match=whole):
        find_rollouts(path)


@pytest.mark.parametrize("ending", ["json", "yaml", "csv"])
def test_a_byte_order_mark_is_no_part_of_a_table(tmp_path: Path, ending: str) -> None:
    path = files(tmp_path, "a.mp4") / f"list.{ending}"
    text = "video,plan\na.mp4,WS\n" if ending == "csv" else '[{"video": "a.mp4", "plan": "WS"}]'
    path.write_text(text, encoding="utf-8-sig")
    assert [r.plan for r in find_rollouts(path)] == [named_plan("WS")]
    (tmp_path / "p.json").write_text('{"keys": "AD"}', encoding="utf-8-sig")
    [found] = find_rollouts(path, plan=str(tmp_path / "p.json"))
    assert found.plan is not None
    assert found.plan.actions == named_plan("AD").actions


def test_an_empty_name_is_not_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files(tmp_path, "a.mp4"))
    for paths in ("", [""], ["a.mp4", ""]):
        with pytest.raises(ArgumentError, match="paths must name at least one video, folder or manifest, got ''"):
            find_rollouts(paths, plan="W")


def test_manifests_of_another_form(tmp_path: Path) -> None:
    path = tmp_path / "list.json"
    for text, sentence in (
        ('{"rollouts": 3}', "a manifest must be a list of rows, got int"),
        ("3", "a manifest must be a list of rows, got int"),
        ('{"videos": []}', "a table must map file stems to rows, got dict"),
        ('["a.mp4"]', "row 1 must be a mapping of keys to values, got str"),
    ):
        path.write_text(text)
        with pytest.raises(FileFormatError, match=f"^find_rollouts: {sentence}: .*list.json$"):
            find_rollouts(path)
    path.write_text("[]")
    with pytest.raises(ArgumentError, match="paths must list rollouts, got an empty manifest"):
        find_rollouts(path)


def test_tables_with_something_wrong(tmp_path: Path) -> None:
    files(tmp_path, "a.mp4", "b.mp4")
    table = tmp_path / "annotations.json"
    for row, sentence in (
        ({"action_id": 16}, "row 'a' must give a plan that is possible, got named_plan"),
        ({"action_id": 6, "command": "LR"}, "row 'a' must have a command that is its action_id's, got 'LR' and 6"),
        (
            {"action_id": 6, "segment_boundaries_frame": [1, 2, 3]},
            "row 'a' must give a plan that is possible, got Plan",
        ),
        (
            {"action_id": 6, "segment_boundaries_frame": "x y"},
            "row 'a', segment_boundaries_frame must be a list of whole",
        ),
        ({"model": 3, "action_id": 6}, "row 'a', model must be text, got 3"),
    ):
        table.write_text(json.dumps({"a": row}))
        with pytest.raises(FileFormatError, match=f"^find_rollouts: {sentence}.*annotations.json$"):
            find_rollouts(tmp_path)
    table.write_text(json.dumps({"a": {"command": "WS", "segment_boundaries_frame": [7]}, "gone": {"action_id": 99}}))
    found = find_rollouts(tmp_path)
    assert [r.plan for r in found] == [named_plan("WS").realised([0, 7]), None]
    table.write_text(json.dumps({"images": [1], "licences": [2]}))  # somebody else's annotations.json
    assert len(find_rollouts(tmp_path, plan="W")) == 2


def test_two_rollouts_with_one_id(tmp_path: Path) -> None:
    for run in ("one", "two"):
        files(tmp_path / run / "m", "001_001.mp4")
    with pytest.raises(ArgumentError, match=r"an id of its own, got 'm/001_001' for .*one.* and .*two"):
        find_rollouts([tmp_path / "one" / "m", tmp_path / "two" / "m"])
    assert len(find_rollouts(tmp_path)) == 2


def test_links_keep_the_names_the_user_gave_them(tmp_path: Path) -> None:
    blobs = files(tmp_path / "blobs", "a1b2c3", "d4e5f6")
    root = files(tmp_path / "videos", "lyra-2/000_001.mp4")
    (root / "lyra-2" / "016_014.mp4").symlink_to(blobs / "a1b2c3")
    (root / "lyra-2" / "017_014.mp4").symlink_to(blobs / "a1b2c3")
    (root / "lyra-2" / "018_014.mp4").symlink_to("018_014.mp4")  # a circle: it is found, and cannot be opened
    (root / "lyra-2" / "019_014.mp4").symlink_to("nowhere.mp4")
    found = find_rollouts(root)
    assert [r.case for r in found] == ["000_001", "016_014", "017_014", "018_014", "019_014"]
    assert {r.model for r in found} == {"lyra-2"}


def test_linked_folders_are_searched_and_circles_are_not(tmp_path: Path) -> None:
    elsewhere = files(tmp_path / "elsewhere", "016_014.mp4")
    root = files(tmp_path / "videos", "lyra-2/000_001.mp4")
    (root / "HY-World").symlink_to(elsewhere)
    (root / "again").symlink_to("lyra-2")  # inside: found by its own name already
    (root / "up").symlink_to("..")
    (elsewhere / "round").symlink_to(root)
    assert ids(find_rollouts(root)) == ["videos/HY-World/016_014", "videos/lyra-2/000_001"]


def test_a_folder_that_cannot_be_read_is_not_left_out_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = files(tmp_path / "videos", "lyra-2/000_001.mp4", "locked/000_001.mp4")
    scandir = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(ArgumentError, match=r"be folders that can be read, got .*locked \(Permission denied\)"):
        find_rollouts(root)


def test_names_that_are_no_text_of_one_line_are_spelled_out(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path / "videos")
    os.mkdir(folder)
    for name in (b"x\xff.mp4", b"a\nb.mp4", "\u6df1.mp4".encode()):
        open(os.path.join(folder, name), "wb").close()
    found = find_rollouts(tmp_path / "videos", plan="W")
    assert ids(found) == ["videos/a\\nb", "videos/x\\xff", "videos/\u6df1"]
    assert all(rollout.video_path.exists() for rollout in found)


def test_a_name_that_is_too_long_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="paths must exist"):
        find_rollouts(tmp_path / ("a" * 300))
