"""Plans in files and editors."""

import json
import os
from pathlib import Path

import pytest

from deer.cli.plan_files import parse_plan_text, plan_as_yaml, read_plan_file, read_step_file
from deer.errors import InvalidInput
from deer.models import PlanRules
from deer.parsing import parse_plan
from tests.unit.cli.scripted_run import plan, step


def test_an_edited_plan_keeps_every_word() -> None:
    """A plan written as YAML and read again is the plan, without the fields that code computes."""
    long = "数值 and words, " * 40 + "the end: 'quoted' \"twice\" # no comment"
    shown = plan(step("s1", description=long), step("s2", depends_on=("s1",), title="1e3: yes"), revision=4)
    read = parse_plan_text(plan_as_yaml(shown))
    assert read["steps"][0]["description"] == long
    assert read["steps"][1]["title"] == "1e3: yes"
    assert not {"status", "finding", "reason"} & set(read["steps"][0])
    assert "revision" not in read
    draft = parse_plan(read, PlanRules(max_steps=5, known_ids=("s1", "s2")))
    assert [written.id for written in draft.steps] == ["s1", "s2"]


def test_yaml_for_the_editor_says_the_rules() -> None:
    """The text in the editor names the revision, the step types and how to send nothing."""
    text = plan_as_yaml(plan(revision=3))
    assert text.startswith("# Plan 3.")
    assert "research, analysis, processing" in text


def test_json_as_show_prints_it_is_a_plan_file(tmp_path: Path) -> None:
    """The plan of `show --json` may be sent back as it is."""
    path = tmp_path / "plan.json"
    path.write_text(plan().model_dump_json(), encoding="utf-8")
    read = read_plan_file(path)
    assert read["title"] == "Heat pumps in cold climates"
    assert [written["id"] for written in read["steps"]] == ["s1", "s2"]
    assert "status" not in json.dumps(read)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("title: [unclosed", "line 1"),
        ("just words", "a plan is a mapping with title and steps"),
        ("- a\n- list", "a plan is a mapping with title and steps"),
        ("", "a plan is a mapping with title and steps"),
        ("a: !!python/object:os.system x", "neither YAML nor JSON"),
        ("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]", "line 2: neither YAML nor JSON: a plan has no aliases"),
    ],
)
def test_a_file_that_holds_no_plan_says_why(tmp_path: Path, text: str, said: str) -> None:
    """A file that is no mapping is refused in one line with its name."""
    path = tmp_path / "plan.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput) as refusal:
        read_plan_file(path)
    assert said in str(refusal.value)
    assert str(path) in str(refusal.value)


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    """A missing file, a folder and a picture are refused with their names."""
    (tmp_path / "picture").write_bytes(b"\x89PNG\xff\xfe")
    for name in ("missing", ".", "picture"):
        with pytest.raises(InvalidInput, match="--plan"):
            read_plan_file(tmp_path / name)


def test_what_may_never_end_is_not_read(tmp_path: Path) -> None:
    """A pipe that nobody writes to, a device without an end and a huge file are refused at once, each in a line."""
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "huge").open("wb") as huge:
        huge.truncate(100_000_000_000)
    refusals = {
        "pipe": "is no regular file",
        "/dev/zero": "is no regular file",
        "huge": "is larger than 1,000,000 bytes",
    }
    for name, said in refusals.items():
        for read, option in ((read_plan_file, "--plan"), (read_step_file, "--file")):
            with pytest.raises(InvalidInput, match=said) as refusal:
                read(tmp_path / name)
            assert str(refusal.value).startswith(f"{option} {tmp_path / name}: ")


def test_steps_that_are_no_mappings_are_left_to_the_run() -> None:
    """What is wrong inside a plan is said by the run, which names the field."""
    assert parse_plan_text("title: x\nsteps: [oops]") == {"title": "x", "steps": ["oops"]}
