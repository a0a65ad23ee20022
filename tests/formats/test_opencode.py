"""Reading opencode's storage and exports."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import InputError
from labkit.record.load import load
from labkit.record.trace import Edit, Usage
from mutants import mutants, read_damaged, sound

DATA = Path(__file__).resolve().parent.parent / "data" / "opencode"


def test_each_step_of_a_message_is_a_request() -> None:
    trace = load(DATA / "export.json")
    assert (trace.name, trace.source) == ("Soup", "opencode: export.json")
    # Reasoning is billed as output: 20 + 5.
    assert [(r.start, r.usage) for r in trace.requests] == [
        (1772442002.0, Usage(400, 0, 100, 0, 25)),
        (1772442003.0, Usage(30, 500, 40, 0, 10)),
        (1772442031.0, Usage(10, 560, 9, 0, 4)),
        (1772442041.0, Usage(200, output=3)),
    ]
    assert {r.model for r in trace.requests} == {"model-o"}


def test_blocks_of_a_session() -> None:
    trace = load(DATA / "export.json")
    assert [(b.kind, b.role, b.text) for b in trace.blocks[:8]] == [
        ("text", "user", "The soup has no salt."),
        ("image", "user", "[image/png 800x600]"),
        ("thinking", "assistant", "Look first."),
        ("call", "assistant", 'bash {"command":"ls"}'),
        ("result", "tool", "soup.txt"),
        ("text", "assistant", "It is bland."),
        ("call", "assistant", 'bash {"command":"taste"}'),
        ("result", "tool", "no tongue"),
    ]


def test_a_pruned_output_stays_in_full_and_is_a_recorded_edit() -> None:
    trace = load(DATA / "export.json")
    # Pruned at second 20, so the request of second 31 is the first without it.
    assert trace.edits[0] == Edit("clear", 3, (4,), stub="[Old tool result content cleared]", trigger="prune")


def test_a_summary_replaces_what_came_before_and_its_call_is_a_child() -> None:
    trace = load(DATA / "export.json")
    assert trace.edits[1] == Edit("summary", 4, tuple(range(10)), summary=10, trigger="compaction")
    (call,) = trace.children
    assert (call.kind, [r.usage for r in call.requests]) == ("compaction", [Usage(700, output=50)])


def test_a_storage_holds_what_the_export_holds_and_the_subagents() -> None:
    trace, exported = load(DATA / "storage"), load(DATA / "export.json")
    assert (trace.blocks, trace.requests, trace.edits) == (exported.blocks, exported.requests, exported.edits)
    agent = trace.children[0]
    assert (agent.name, agent.kind, agent.usage) == ("Taster", "subagent", Usage(77, output=7))
    assert [b.text for b in agent.blocks] == ["Taste it.", "Bland."]


def test_a_sessions_file_finds_its_storage() -> None:
    trace = load(DATA / "storage" / "session" / "p" / "s2.json")
    assert (trace.name, len(trace.requests)) == ("Taster", 1)


def test_a_message_or_part_alone_is_refused_in_one_sentence() -> None:
    for name in ("message/s1/m1.json", "part/m2/q3.json", "part/n1/w1.json"):
        with pytest.raises(InputError, match="is one message or part of an opencode storage: give the storage folder"):
            load(DATA / "storage" / name)


def test_sessions_that_are_each_others_parent_end(tmp_path: Path) -> None:
    shutil.copytree(DATA / "storage", tmp_path / "storage")
    file = tmp_path / "storage" / "session" / "p" / "s1.json"
    session = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**session, "parentID": "s2"}), encoding="utf-8")
    with pytest.raises(InputError, match="holds no session of opencode that can be read"):
        load(tmp_path / "storage")
    trace = load(file)
    assert [c.name for c in trace.children if c.kind == "subagent"] == ["Taster"]


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    shutil.copytree(DATA / "storage", tmp_path / "storage")
    (tmp_path / "storage" / "part" / "m3" / "r1.json").unlink()
    said = load(tmp_path / "storage").warnings
    assert "1 messages have no parts here: what they said is not known" in said
    assert "1 responses ended with an error: what they spent may not be recorded" in said


@given(data=st.data())
def test_damage_gives_a_trace_or_one_sentence(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged-export.json"
    read_damaged(path, data.draw(mutants((DATA / "export.json").read_bytes())))


def test_real_storages_load_or_are_refused(corpus: Path, index: dict[str, dict[str, Any]]) -> None:
    root = corpus / "other" / "opencode-storage"
    assert [c.name for c in load(root / "storage_v2").children] == ["OpenCode Large", "OpenCode Small"]
    legacy = load(root / "storage_legacy")
    assert [b.kind for b in legacy.blocks] == ["call", "text", "result"]
    refused = []
    for name in (name for name in index if name.startswith("other/opencode-storage/")):
        try:
            sound(load(corpus / name))
        except InputError as error:
            refused.append(str(error))
    assert len(refused) == 25  # the three sessions' own files load; a message, a part or a number does not
    assert not any("\n" in sentence for sentence in refused)
