"""Reading Codex CLI rollouts: faults that people reported in other readers, and the real files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import InputError
from labkit.record.formats import codex
from labkit.record.formats.common import timestamp
from labkit.record.formats.responses_items import data_url_image, item_blocks
from labkit.record.load import load
from labkit.record.trace import Prefix, Usage
from mutants import mutants, read_damaged, sound
from records import total, write

DATA = Path(__file__).resolve().parent.parent / "data" / "codex"
PARENT = DATA / "rollout-2026-03-02T09-00-00-aaaaaaaa-0000-4000-8000-000000000001.jsonl"
CHILD = DATA / "rollout-2026-03-02T09-00-20-bbbbbbbb-0000-4000-8000-000000000002.jsonl"


def line(kind: str, second: int = 0, **payload: Any) -> dict[str, Any]:
    return {"timestamp": f"2026-03-02T09:00:{second:02d}.000Z", "type": kind, "payload": payload}


def meta(second: int = 0, **more: Any) -> dict[str, Any]:
    return line("session_meta", second, id="s1", timestamp=f"2026-03-02T09:00:{second:02d}.000Z", **more)


def item(second: int, kind: str, **more: Any) -> dict[str, Any]:
    return line("response_item", second, type=kind, **more)


def said(second: int, role: str, text: str) -> dict[str, Any]:
    return item(second, "message", role=role, content=[{"type": "output_text", "text": text}])


def counted(second: int, total: tuple[int, ...], last: tuple[int, ...] | None = None) -> dict[str, Any]:
    def reading(t: tuple[int, ...]) -> dict[str, int]:
        names = ("input_tokens", "cached_input_tokens", "output_tokens", "cache_write_input_tokens")
        return dict(zip(names, t, strict=False))

    info = {"total_token_usage": reading(total), "last_token_usage": reading(last or total)}
    return line("event_msg", second, type="token_count", info=info)


def test_a_rollout_becomes_requests_blocks_and_children() -> None:
    trace = load(PARENT)
    assert trace.source == f"Codex CLI: {PARENT.name}"
    assert trace.prefixes == (Prefix("Work with care."),)
    assert [(b.kind, b.role, b.request, b.message) for b in trace.blocks] == [
        ("text", "system", 1, 0),
        ("text", "user", 1, 1),
        ("thinking", "assistant", 2, 2),
        ("call", "assistant", 2, 2),
        ("call", "assistant", 2, 2),
        ("result", "tool", 2, 3),
        ("result", "tool", 2, 3),
        ("text", "assistant", 3, 4),
        ("call", "assistant", 3, 4),
        ("result", "tool", 3, 5),
        ("summary", "user", 3, 6),
        ("text", "user", 3, 7),
        ("text", "assistant", 4, 8),
    ]
    assert (trace.blocks[6].text, trace.blocks[6].tool, trace.blocks[6].args) == (
        "7 parts.txt",
        "exec_command",
        "cmd=wc -l parts.txt",
    )
    assert [r.usage for r in trace.requests] == [
        Usage(1000, 0, 0, 0, 50),
        Usage(176, 1024, 0, 0, 40),
        Usage(500, 0, 0, 0, 10),
    ]
    assert {r.model for r in trace.requests} == {"gpt-5.4"}
    # Sent when the turn's context was written down, right after the results: 09:00:10, then 09:01:15.
    assert [r.start for r in trace.requests] == [1772442004.0, 1772442010.0, 1772442075.0]


def test_what_events_repeat_for_the_screen_is_not_context() -> None:
    texts = [b.text for b in load(PARENT).blocks]
    assert texts.count("Count the parts.") == texts.count("An agent shall check.") == texts.count("Look first.") == 1


def test_token_counts_sent_again_count_once(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl",
        meta(),
        line("event_msg", 1, type="token_count", info=None),
        said(1, "user", "go"),
        said(2, "assistant", "on"),
        counted(2, (1000, 200, 50)),
        counted(3, (1000, 200, 50)),
        said(4, "user", "go"),
        said(5, "assistant", "on"),
        counted(5, (2150, 900, 100), (1150, 700, 50)),
        *(counted(s, (2150, 900, 100), (1150, 700, 50)) for s in range(6, 30)),
    )
    trace = load(path)
    assert [r.usage for r in trace.requests] == [Usage(800, 200, 0, 0, 50), Usage(450, 700, 0, 0, 50)]
    assert "25 token counts repeat the one before; counted once" in trace.warnings


def test_a_forked_thread_does_not_count_what_it_inherited(tmp_path: Path) -> None:
    history = [said(0, "user", "go"), said(0, "assistant", "on"), counted(0, (5000, 4000, 300), (900, 0, 30))]
    path = write(
        tmp_path / "a.jsonl",
        meta(forked_from_id="s0"),
        line("session_meta", 0, id="s0", timestamp="2026-03-02T08:00:00.000Z"),
        *history,
        counted(0, (5000, 4000, 300), (900, 0, 30)),
        said(2, "user", "check"),
        said(4, "assistant", "right"),
        counted(4, (5950, 4800, 310), (950, 800, 10)),
    )
    trace = load(path)
    assert [r.usage for r in trace.requests] == [Usage(150, 800, 0, 0, 10)]
    # The history was sent all the same.
    assert [(b.text, b.request) for b in trace.blocks] == [("go", 1), ("on", 1), ("check", 1), ("right", 2)]
    assert any(w.startswith("2 token counts were inherited") for w in trace.warnings)


def test_a_counter_that_begins_again_is_a_new_baseline(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl",
        meta(),
        said(1, "assistant", "one"),
        counted(1, (1000, 0, 50)),
        said(2, "user", "go"),
        said(3, "assistant", "two"),
        counted(3, (600, 100, 20)),
        said(4, "user", "go"),
        said(5, "assistant", "three"),
        counted(5, (1300, 200, 60), (700, 100, 40)),
    )
    assert [r.usage for r in load(path).requests] == [
        Usage(1000, 0, 0, 0, 50),
        Usage(500, 100, 0, 0, 20),
        Usage(600, 100, 0, 0, 40),
    ]


def test_cached_and_written_tokens_are_parts_of_the_input(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", meta(), said(1, "assistant", "one"), counted(1, (1000, 300, 50, 200)))
    assert load(path).usage == Usage(500, 300, 200, 0, 50)


def test_a_compaction_keeps_what_its_replacement_repeats() -> None:
    trace = load(PARENT)
    (edit,) = trace.edits
    assert (edit.kind, edit.request, edit.blocks, edit.summary) == ("summary", 3, tuple(range(2, 10)), 10)
    assert "2 items are encrypted: they are in the context with a size that is not known" in trace.warnings


def test_an_old_compaction_keeps_what_the_user_said(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl",
        meta(),
        said(1, "user", "go"),
        said(2, "assistant", "on"),
        line("compacted", 3, message="We went on."),
        said(4, "user", "more"),
    )
    trace = load(path)
    assert [(e.blocks, e.summary) for e in trace.edits] == [((1,), 2)]
    assert (trace.blocks[2].kind, trace.blocks[2].text) == ("summary", "We went on.")
    assert any("calls that are not recorded" in w for w in trace.warnings)


def test_the_summary_call_counts_where_it_was_counted() -> None:
    trace = load(PARENT)
    summary = next(c for c in trace.children if c.kind == "compaction")
    assert summary.usage == Usage(176, 1024, 0, 0, 100)
    assert total(trace) + total(summary) == 4100  # the counter's last reading, 3,900 and 200


def test_spawned_agents_are_children_and_counted_apart(tmp_path: Path) -> None:
    agents = [c for c in load(PARENT).children if c.kind == "subagent"]
    assert [(c.name, c.usage) for c in agents] == [(CHILD.stem, Usage(88, 512, 0, 0, 30))]
    assert load(CHILD).kind == "subagent"
    alone = shutil.copy(PARENT, tmp_path / PARENT.name)
    assert "1 spawned agents have no rollout here: what they spent is not recorded" in load(alone).warnings


def test_agents_are_found_in_the_folder_of_another_day(tmp_path: Path) -> None:
    first, second = tmp_path / "2026" / "03" / "02", tmp_path / "2026" / "03" / "03"
    first.mkdir(parents=True)
    second.mkdir(parents=True)
    path = shutil.copy(PARENT, first / PARENT.name)
    shutil.copy(CHILD, second / CHILD.name)
    assert [c.kind for c in load(path).children] == ["compaction", "subagent"]


def test_a_folder_with_one_session_and_its_agents_is_one_run() -> None:
    assert load(DATA).name == PARENT.stem


def test_a_thread_that_names_itself_as_its_agent_ends(tmp_path: Path) -> None:
    own = "cccccccc-0000-4000-8000-000000000003"
    spawn = line("event_msg", 1, type="collab_agent_spawn_end", new_thread_id=own)
    path = write(tmp_path / f"rollout-{own}.jsonl", line("session_meta", 0, id=own), spawn)
    assert load(path).children == ()


def test_server_tools_are_texts_and_not_calls_without_a_result() -> None:
    search = {"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "bolts"}}
    (block,) = item_blocks(search)
    assert (block.kind, block.text) == ("text", 'web_search {"type":"search","query":"bolts"}')


def test_a_picture_is_not_counted_as_text(tmp_path: Path) -> None:
    url = "data:image/png;base64," + "A" * 100_000
    parts = [{"type": "input_text", "text": "look"}, {"type": "input_image", "image_url": url}]
    path = write(tmp_path / "a.jsonl", meta(), item(1, "message", role="user", content=parts))
    assert [(b.kind, b.text) for b in load(path).blocks] == [("text", "look"), ("image", "[image/png]")]
    assert data_url_image(None) == "[image]"


def test_outputs_of_every_shape() -> None:
    def output(value: Any) -> list[tuple[str, str]]:
        return [
            (b.kind, b.text) for b in item_blocks({"type": "function_call_output", "call_id": "c", "output": value})
        ]

    assert output("a") == [("result", "a")]
    assert output({"content": "a", "success": False}) == [("result", "a")]
    assert output([{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]) == [("result", "a\nb")]
    assert output([{"type": "input_image", "image_url": None}]) == [("result", ""), ("image", "[image]")]
    assert output({"answer": 42}) == [("result", '[{"answer":42}]')]
    assert output(None) == [("result", "")]


def test_an_id_that_is_used_again_pairs_with_its_nearest_call(tmp_path: Path) -> None:
    def asked(second: int, name: str) -> dict[str, Any]:
        return item(second, "function_call", name=name, arguments="{}", call_id="c")

    def got(second: int, text: str) -> dict[str, Any]:
        return item(second, "function_call_output", call_id="c", output=text)

    path = write(tmp_path / "a.jsonl", meta(), asked(1, "ls"), got(2, "x"), asked(3, "cat"), got(4, "y"), got(5, "z"))
    trace = load(path)
    assert [(b.tool, b.text) for b in trace.blocks if b.kind == "result"] == [("ls", "x"), ("cat", "y")]
    assert "1 results answer a call that was answered before; dropped" in trace.warnings


def test_a_rolled_back_turn_leaves_the_context(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl",
        meta(),
        said(1, "user", "go"),
        said(2, "assistant", "on"),
        said(3, "user", "wrong"),
        said(4, "assistant", "so"),
        line("event_msg", 5, type="thread_rolled_back", num_turns=1),
        said(6, "user", "right"),
    )
    assert [(e.kind, e.request, e.blocks) for e in load(path).edits] == [("evict", 3, (2, 3))]


def test_a_rollout_without_envelopes(tmp_path: Path) -> None:
    head = {"id": "s1", "timestamp": "2025-06-01T09:00:00.000Z", "instructions": "Be brief."}
    items = [said(0, "user", "go")["payload"], {"record_type": "state"}, said(0, "assistant", "on")["payload"]]
    trace = load(write(tmp_path / "a.jsonl", head, *items))
    assert [(b.role, b.text) for b in trace.blocks] == [("user", "go"), ("assistant", "on")]
    assert trace.prefixes == (Prefix("Be brief."),)


def test_one_bad_line_costs_one_line(tmp_path: Path) -> None:
    text = PARENT.read_text(encoding="utf-8").split("\n")
    odd = text[2].replace("Count", "a\u2028b")
    torn = [*text[:2], odd, text[3][:40], "5", "\0\0", *text[4:]]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(torn), encoding="utf-8")
    trace = load(path)
    assert total(trace) == 2800
    assert trace.blocks[1].text == "a\u2028b the parts."
    assert [w for w in trace.warnings if w.startswith("line ")] == [
        "line 4: not valid JSON from character 1; skipped from there",
        "line 5: JSON, but not an object; skipped",
    ]


@pytest.mark.parametrize("original", [PARENT, CHILD])
@given(data=st.data())
def test_damaged_rollouts_never_raise(
    tmp_path_factory: pytest.TempPathFactory, original: Path, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "codex" / original.name
    path.parent.mkdir(exist_ok=True)
    read_damaged(path, data.draw(mutants(original.read_bytes())))


# The real rollouts.


def rows(corpus: Path) -> dict[str, dict[str, Any]]:
    index = json.loads((corpus / "INDEX.json").read_text(encoding="utf-8"))
    return {r["file"]: r for r in index if r["format"] == "codex" and (corpus / r["file"]).exists()}


def test_real_totals_hold_and_naive_sums_differ(corpus: Path) -> None:
    checked = 0
    for name, row in rows(corpus).items():
        if not codex.matches(corpus / name):
            continue
        trace = load(corpus / name)
        sound(trace)
        expected = row["oracle"]["final_total"] or 0
        if name.endswith("all-item-types-0.146.jsonl"):
            # The file ends with a made-up reading of zeros: a counter that began again. 16,422 were spent.
            expected = 16_422
        assert total(trace) == expected, name
        naive = row["oracle"]["naive_sum_last"]
        assert (total(trace) == naive) == (expected == naive), name
        checked += 1
    assert checked == 15


def test_real_calls_and_messages_survive(corpus: Path) -> None:
    for name, row in rows(corpus).items():
        if not codex.matches(corpus / name) or name.endswith("all-item-types-0.146.jsonl"):
            continue  # that file is made up: its trimmed ids are all equal, and so are three of its calls
        trace = load(corpus / name)
        assert sum(b.kind == "call" for b in trace.blocks) == row["calls"], name
        results = row["oracle"]["items"].get("response_item/function_call_output", 0)
        results += row["oracle"]["items"].get("response_item/custom_tool_call_output", 0)
        assert sum(b.kind == "result" for b in trace.blocks) == results, name
        told = {b.message for b in trace.blocks if b.kind in ("text", "image") and b.role != "assistant"}
        answers = [b for b in trace.blocks if b.kind == "text" and b.role == "assistant" and b.edited is None]
        searches = row["oracle"]["items"].get("response_item/web_search_call", 0)
        made = {b.message for b in trace.blocks if b.edited == "summary" and b.kind == "text" and b.role != "assistant"}
        assert len(told - made) + len(answers) - searches == row["messages"], name


def test_real_agents_are_counted_once(corpus: Path) -> None:
    trace = load(corpus / "codex" / "langsmith-rollout-subagents.jsonl")
    assert (total(trace), [total(c) for c in trace.children]) == (85_602, [10_764, 21_825])


def test_the_real_file_of_another_program_is_refused_in_one_sentence(corpus: Path) -> None:
    with pytest.raises(InputError, match="is not in a format labkit knows") as refused:
        load(corpus / "codex" / "agent-sessions-session_branch.jsonl")
    assert "\n" not in str(refused.value)


def test_what_a_warning_quotes_stays_on_its_line(tmp_path: Path) -> None:
    rows = [meta(), {"type": "x\n\x1b[2Jy" + "z" * 900, "timestamp": "soon"}, said(1, "user", "Go.")]
    (warning,) = load(write(tmp_path / "a.jsonl", *rows)).warnings
    assert warning.startswith(r"line 2: 'x\n\x1b[2Jyzzz") and len(warning) < 100


@pytest.mark.parametrize("bad", ["soon", "2026-13-45T99:99:99Z", "", None, 7, {"a": 1}])
def test_a_time_that_is_none_falls_back_to_the_responses_own(bad: object, tmp_path: Path) -> None:
    def untimed(row: dict[str, Any]) -> dict[str, Any]:
        return {**row, "timestamp": bad}

    asked, again = said(1, "user", "Ask the keeper."), said(8, "user", "Once more.")
    rows = [meta(), asked, said(5, "assistant", "He sleeps."), counted(6, (90, 0, 4))]
    rows += [again, said(9, "assistant", "Still."), counted(9, (190, 80, 8))]
    good = [r.start for r in load(write(tmp_path / "good.jsonl", *rows)).requests]
    assert good == [timestamp(asked["timestamp"]), timestamp(again["timestamp"])]
    rows[1], rows[4] = untimed(asked), untimed(again)
    times = [r.start for r in load(write(tmp_path / "bad.jsonl", *rows)).requests]
    assert times == [timestamp(rows[2]["timestamp"]), timestamp(rows[5]["timestamp"])]
    everywhere = [untimed(row) for row in rows]
    assert [r.start for r in load(write(tmp_path / "none.jsonl", *everywhere)).requests] == [None, None]
