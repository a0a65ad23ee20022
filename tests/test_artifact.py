"""The artifact: its rules, its hash, its text, and what is built of real runs."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import InputError
from labkit.ladder.artifact import (
    Artifact,
    Carried,
    Completed,
    Decision,
    Evidence,
    Invariant,
    Open,
    check_evidence,
    digest,
    evidence_of,
    ground,
    json_schema,
)
from labkit.ladder.artifact_text import parse, render
from labkit.ladder.artifact_writer import extract
from labkit.ladder.manager import ContextManager
from labkit.ladder.notes import notes_of
from labkit.ladder.policy import Policy
from labkit.ladder.rungs import stub
from labkit.record.load import load
from labkit.record.trace import Block, Trace

SEEN = Evidence(3, "run_tests", "tests", digest=digest("3 passed"))
VALID = jsonschema.Draft202012Validator(json_schema())
words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
requests = st.none() | st.integers(1, 99)
names = st.from_regex(r"[\w.-]{1,12}", fullmatch=True)
evidences = st.builds(
    Evidence, st.integers(1, 99), names, st.just("") | words, st.none() | names, st.none() | st.just(digest("x"))
)


@st.composite
def artifacts(draw: st.DrawFn) -> Artifact:
    decisions: list[Decision] = []
    standing: list[str] = []
    for n in range(draw(st.integers(0, 4))):
        old = draw(st.none() | st.sampled_from(standing)) if standing else None
        standing = [d for d in standing if d != old] + [f"D-{n + 1:02}"]
        decisions.append(Decision(standing[-1], draw(words), draw(st.just("") | words), old, draw(requests)))
    opened = draw(st.lists(st.builds(Open, words, st.none() | words, requests), max_size=3))
    return Artifact(
        task=draw(words),
        goal=draw(words),
        status=draw(st.sampled_from(["in_progress", "blocked"] + ([] if opened else ["done"]))),
        decisions=tuple(decisions),
        completed=tuple(draw(st.lists(st.builds(Completed, words, evidences, requests, requests), max_size=3))),
        open=tuple(opened),
        invariants=tuple(draw(st.lists(st.builds(Invariant, words, requests), max_size=3))),
        artifacts=tuple(draw(st.lists(words, max_size=3))),
        carried=tuple(
            draw(
                st.lists(st.builds(Carried, st.sampled_from(["user", "notes", "summary"]), words, requests), max_size=3)
            )
        ),
    )


@given(artifacts())
def test_read_back_word_for_word(artifact: Artifact) -> None:
    assert parse(render(artifact)) == artifact
    assert Artifact.from_json(artifact.to_json()) == artifact


@given(artifacts(), artifacts())
def test_equal_records_have_equal_hashes(a: Artifact, b: Artifact) -> None:
    assert (a == b) == (a.content_sha256 == b.content_sha256)


def test_hash_is_sha256_of_canonical_json_worked_by_hand() -> None:
    by_hand = (
        '{"artifacts":[],"carried":[],"completed":[],"decisions":[],"goal":"é","invariants":[],"open":[],'
        '"status":"in_progress","task":"t","version":1}'
    )
    assert Artifact("t", "é").content_sha256 == hashlib.sha256(by_hand.encode()).hexdigest()


@given(artifacts(), st.data())
def test_a_changed_text_is_not_read_back(artifact: Artifact, data: st.DataObject) -> None:
    text = render(artifact)
    at = data.draw(st.integers(0, len(text) - 1))
    changed = text[:at] + ("x" if text[at] != "x" else "y") + text[at + 1 :]
    assert parse(changed) is None


@given(st.text())
def test_any_other_text_is_another_programs(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"completed": [Completed("a", None)]}, "the completed step 'a' has no evidence"),  # type: ignore[arg-type]
        ({"completed": [Completed("a", "it works")]}, "the completed step 'a' has no evidence"),  # type: ignore[arg-type]
        ({"status": "done", "open": [Open("b")]}, "status is 'done', and 'b' is open"),
        ({"status": "finished"}, "status is 'finished'"),
        ({"decisions": [Decision("D-1", "x")]}, "a decision has the id 'D-1'"),
        ({"decisions": [Decision("D-01", "x"), Decision("D-01", "y")]}, "each once"),
        ({"decisions": [Decision("D-01", "x", supersedes="D-01")]}, "D-01 supersedes D-01: give a decision that"),
        (
            {"decisions": [Decision("D-01", "x", supersedes="D-02"), Decision("D-02", "y")]},
            "D-01 supersedes D-02: give a decision that stands before it",
        ),
        (
            {
                "decisions": [
                    Decision("D-01", "x"),
                    Decision("D-02", "y", supersedes="D-01"),
                    Decision("D-03", "z", supersedes="D-01"),
                ]
            },
            "which D-02 superseded already: let it supersede D-02",
        ),
        ({"open": [Open("")]}, "open has an entry without words"),
        ({"decisions": [Decision("D-01", "")]}, "decisions has an entry without words"),
        ({"artifacts": ["a.py", ""]}, "artifacts has an entry without words"),
        ({"invariants": ["keep USD"]}, "give Invariant values"),
        ({"task": "half \ud800"}, "half a character"),
        ({"version": 2}, "version 2, this labkit knows 1"),
    ],
)
def test_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as error:
        Artifact(**{"task": "t", "goal": "g", **fields})  # type: ignore[arg-type]
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("request_", "tool", "call_id", "seen"),
    [(0, "a", None, None), (1, "", None, None), (1, "a b", None, None), (1, "a", "x y", None), (1, "a", None, "abc")],
)
def test_evidence_that_points_nowhere(request_: int, tool: str, call_id: str | None, seen: str | None) -> None:
    with pytest.raises(InputError):
        Evidence(request_, tool, "", call_id, seen)


def _changed(**values: object) -> str:
    return json.dumps({**Artifact("t", "g", open=(Open("b"),)).to_dict(), **values})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("[1]", "no JSON object"),
        ("{}", "no version"),
        (_changed(version=7), "version 7, this labkit knows version 1"),
        (_changed(version="1"), "version '1'"),
        (_changed(goal="another"), "it was changed by hand or is damaged"),
        (_changed(content_sha256=None), "it was changed by hand or is damaged"),
        (_changed(owner="me"), "an unknown field 'owner'"),
        (_changed(goal=3), "goal: Input should be a valid string"),
        (_changed(open=[{"blocker": "x"}]), "open.0.step: Field required"),
        (_changed(completed=[{"step": "s", "evidence": "trust me"}]), "completed.0.evidence"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_a_foreign_or_torn_file_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        Artifact.from_json(text)
    assert message in str(error.value)


@given(artifacts())
def test_the_schema_describes_what_is_written(artifact: Artifact) -> None:
    VALID.validate(json.loads(artifact.to_json()))


def test_the_schema_refuses_a_step_without_evidence() -> None:
    values = Artifact("t", "g", completed=(Completed("a", SEEN),)).to_dict()
    del values["completed"][0]["evidence"]
    with pytest.raises(jsonschema.ValidationError, match="'evidence' is a required property"):
        jsonschema.validate(json.loads(json.dumps(values)), json_schema())


def test_superseded_decisions_do_not_stand() -> None:
    chain = (Decision("D-01", "x"), Decision("D-02", "y", supersedes="D-01"), Decision("D-03", "z"))
    assert [d.id for d in Artifact("t", "g", decisions=chain).standing] == ["D-02", "D-03"]


# -- evidence ------------------------------------------------------------------------------------


def _result(text: str, request: int = 3, **fields: str) -> Block:
    return Block("result", "tool", text, request=request, **{"tool": "run_tests", "args": "tests", **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("block", "found"),
    [
        (_result("3 passed"), True),
        (_result("3 passed", call_id="c1"), True),
        (_result("2 passed"), False),
        (_result("3 passed", request=4), False),
        (_result("3 passed", args="src"), False),
        (_result("3 passed", tool="lint"), False),
        (Block("text", "assistant", "3 passed", request=3, tool="run_tests", args="tests"), False),
    ],
)
def test_evidence_exists_or_not(block: Block, found: bool) -> None:
    artifact = Artifact("t", "g", completed=(Completed("a", SEEN),))
    assert check_evidence(artifact, [block]) == (() if found else ("a",))
    if found:
        assert ground(artifact, [block]) is artifact
    else:
        with pytest.raises(InputError, match=r"'a' names run_tests\(tests\) at request 3, and there is no such result"):
            ground(artifact, [block])


def test_a_call_id_that_is_used_twice_is_told_apart_by_its_text() -> None:
    first, second = _result("1 failed", 2, call_id="c1"), _result("3 passed", 5, call_id="c1")
    seen = evidence_of(second)
    assert seen.call_id == "c1"
    assert check_evidence(Artifact("t", "g", completed=(Completed("a", seen),)), [first, second]) == ()
    assert check_evidence(Artifact("t", "g", completed=(Completed("a", seen),)), [first]) == ("a",)


def test_a_cleared_result_is_evidence_by_the_trace_that_keeps_it() -> None:
    whole = _result("ValueError: no\n" * 50, call_id="c1")
    cleared = stub(whole, 200)
    assert cleared.edited == "clear"
    blind = Artifact("t", "g", completed=(Completed("a", evidence_of(cleared)),))
    assert blind.completed[0].evidence.digest is None
    found = ground(blind, [whole])
    assert found.completed[0].evidence == evidence_of(whole)
    assert check_evidence(found, [cleared]) == ("a",)  # the context lost it,
    assert check_evidence(found, [whole]) == ()  # the Trace did not


def test_evidence_known_from_an_earlier_session_needs_no_trace() -> None:
    artifact = Artifact("t", "g", completed=(Completed("a", SEEN),))
    assert ground(artifact, [], known=artifact.completed) is artifact


# -- built from blocks ---------------------------------------------------------------------------


def _run(*said: Block) -> Artifact:
    return extract([Block("text", "user", "Fix it.", request=1), *said])


def _says(text: str, request: int = 5) -> Block:
    return Block("text", "assistant", text, request=request)


@pytest.mark.parametrize(
    ("blocks", "completed", "blocker"),
    [
        ([_says("DONE: a")], 0, "said to be done, and no tool result shows it"),
        ([_result("3 passed"), _says("DONE: a")], 1, None),
        ([_result("KeyError: 'x'"), _says("DONE: a")], 0, "said to be done, and the result is an error: KeyError: 'x'"),
        ([_result("ok", tool="notes_write"), _says("DONE: a")], 0, "said to be done, and no tool result shows it"),
        ([_says("DONE: a"), _result("3 passed")], 0, "said to be done, and no tool result shows it"),
    ],
)
def test_done_is_a_claim_until_a_result_shows_it(blocks: list[Block], completed: int, blocker: str | None) -> None:
    artifact = _run(_says("TODO: a", 2), *blocks)
    assert len(artifact.completed) == completed
    assert [o.blocker for o in artifact.open] == ([blocker] if blocker else [])
    assert artifact.status == ("blocked" if blocker else "in_progress")


def test_said_with_a_call_the_result_of_that_call_shows_it() -> None:
    before = _result("KeyError: 'x'", 2)
    call = Block("call", "assistant", "DONE: a\n\nedit_file(a.py)", request=5, tool="edit_file", args="a.py")
    waiting = _run(before, call)
    assert waiting.open == (Open("a", "said to be done with a call whose result is not here", 5),)
    done = _run(before, call, replace(call, kind="result", role="tool", text="edited"))
    assert [str(c.evidence) for c in done.completed] == ["edit_file(a.py) at request 5"]
    failed = _run(before, call, replace(call, kind="result", role="tool", text="OSError: read-only"))
    assert failed.open[0].blocker == "said to be done, and the result is an error: OSError: read-only"


def test_decisions_reasons_and_what_they_overturn() -> None:
    artifact = _run(
        _says("DECISION: round lines, because the sheet does", 4),
        _says("DECISION: round once", 6),
        _says("DECISION: round the total; this replaces the decision of turn 3", 8),
        _says("DECISION: use Decimal, supersedes D-02", 9),
        _says("DECISION: round once", 10),
    )
    assert [(d.id, d.rationale, d.supersedes, d.request) for d in artifact.decisions] == [
        ("D-01", "the sheet does", None, 4),
        ("D-02", "", None, 6),
        ("D-03", "", "D-01", 8),
        ("D-04", "", "D-02", 9),
    ]


def test_a_step_taken_up_again_is_open() -> None:
    artifact = _run(_result("ok"), _says("DONE: a"), _says("TODO: a (blocked by the lock)", 7))
    assert artifact.completed == () and artifact.open == (Open("a", "the lock", 7),)


def test_steps_of_list_tools() -> None:
    def call(text: str, tool: str, request: int, call_id: str) -> Block:
        return Block("call", "assistant", f"{tool} {text}", request=request, tool=tool, call_id=call_id)

    artifact = _run(
        call('{"subject": "write"}', "TaskCreate", 2, "c1"),
        Block("result", "tool", "Task #7 created", request=2, tool="TaskCreate", call_id="c1"),
        call('{"todos": [{"content": "x", "status": "pending"}, {"content": "y"}]}', "TodoWrite", 3, "c2"),
        _result("3 passed", 4, call_id="c3"),
        call('{"taskId": "7", "status": "completed"}', "TaskUpdate", 5, "c4"),
        call('{"todos": [{"content": "x", "status": "completed"}]}', "TodoWrite", 6, "c5"),
        call('{"todos": "torn', "TodoWrite", 7, "c6"),
    )
    assert [(c.step, c.evidence.call_id, c.opened, c.request) for c in artifact.completed] == [
        ("write", "c3", 2, 5),
        ("x", "c3", 3, 6),
    ]
    assert artifact.open == ()


def test_what_lasts() -> None:
    artifact = _run(
        Block("result", "tool", "ok", request=2, tool="Edit", args="file_path=/a.py, old_string=x"),
        Block("result", "tool", "OSError: no", request=3, tool="Edit", args="file_path=/b.py, old_string=x"),
        _result("Switched to a new branch 'fix/cent'", 4, tool="Bash"),
        _result("[fix/cent 3f9a2c1] Round once\n 2 files changed", 5, tool="Bash"),
        _result("[main (root-commit) 0123abc] x", 6, tool="Bash"),
    )
    assert artifact.artifacts == ("/a.py", "branch fix/cent", "commit 3f9a2c1 on fix/cent", "commit 0123abc on main")


def test_words_of_users_are_kept_and_what_binds_is_named() -> None:
    later = "Also check the export.\nNever touch USD! It must stay."
    artifact = _run(Block("text", "user", later, request=9), Block("text", "user", "keep " * 500, request=11))
    assert [c.text for c in artifact.carried] == [later, "keep " * 500]
    assert [(i.text, i.request) for i in artifact.invariants] == [("Never touch USD!", 9), ("It must stay.", 9)]


def test_errors_are_carried_when_asked_for() -> None:
    blocks = [_result("KeyError: 'x'", 2), _result("OSError: no", 3), _result("KeyError: 'x'", 4)]
    assert extract(blocks).carried == ()
    assert [(c.text, c.request) for c in extract(blocks, errors=1).carried] == [("KeyError: 'x'", 4)]
    assert len(extract(blocks, errors=9).carried) == 2


@pytest.mark.parametrize("name", ["invoice-60", "support-40"])
def test_scripted_runs(root: Path, name: str) -> None:
    trace = load(root / "data" / "traces" / f"{name}.jsonl")
    artifact = extract(trace.blocks, notes_of(trace.blocks))
    assert check_evidence(artifact, trace) == ()
    shape = (len(artifact.decisions), len(artifact.standing), len(artifact.completed), len(artifact.open))
    assert shape == {"invoice-60": (3, 3, 3, 1), "support-40": (3, 2, 4, 1)}[name]
    text = render(artifact)
    again = Block("summary", "user", text, request=60)
    assert extract([again], notes_of(trace.blocks)) == artifact
    # What the article's schema has no place for is errors; everything else on the list is there.
    missing = [f.label.split(":")[0] for f in trace.facts if f.probe not in text]
    assert all(label.startswith("error") for label in missing) and missing
    assert all(f.probe in render(extract(trace.blocks, errors=20)) for f in trace.facts)


def test_two_hand_offs_lose_no_more_than_one(invoice: Trace) -> None:
    whole = extract(invoice.blocks)
    for cut in range(2, len(invoice.blocks), 7):
        first = Block("summary", "user", render(extract(invoice.blocks[:cut])), request=1)
        twice = extract([first, *invoice.blocks[cut:]])
        if any(b.kind == "call" and i == cut - 1 for i, b in enumerate(invoice.blocks)):
            continue  # the rung never parts a call from its result
        assert twice == whole


def test_a_compaction_below_is_read_and_anothers_summary_is_carried(invoice: Trace) -> None:
    manager = ContextManager(policy=Policy(trigger=1, floor=0, keep=None, compact_above=1, keep_recent=0))
    for block in invoice.blocks:
        manager.append(block)
    summary = manager.prepare()[0]
    assert summary.kind == "summary"
    before, after = extract(invoice.blocks), extract([summary])
    assert (after.task, after.decisions, after.invariants) == (before.task, before.decisions, before.invariants)
    assert [o.step for o in after.open] == [o.step for o in before.open]
    assert after.completed == ()  # a summary of this kind says what is open, not what was done
    foreign = extract([Block("summary", "user", "We worked on invoices.", request=8)])
    assert foreign.carried == (Carried("summary", "We worked on invoices.", 8),)


def test_importing_labkit_imports_no_pydantic() -> None:
    code = "import sys, labkit, labkit.ladder.artifact_writer; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_evidence_on_real_sessions(corpus: Path) -> None:
    """On each real session the record's evidence exists; the same claims on invented results are refused."""
    steps = 0
    for path in sorted((corpus / "claude-code").glob("entire-t*.jsonl")):
        trace = load(path)
        artifact = extract(trace.blocks)
        assert check_evidence(artifact, trace) == ()
        assert parse(render(artifact)) == artifact
        for c in artifact.completed:
            steps += 1
            for lie in (
                replace(c.evidence, digest=digest("all tests passed")),
                replace(c.evidence, call_id="toolu_invented"),
                replace(c.evidence, tool="invented"),
            ):
                with pytest.raises(InputError, match="there is no such result"):
                    ground(replace(artifact, completed=(replace(c, evidence=lie),)), trace)
    assert steps == 33
