"""Runs of the benchmark: what must pass, what must fail, and that nothing is used but what the context shows."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from labkit.bench1.agent import Agent, Move, Recall, SiteRecord, seen
from labkit.bench1.bench import difference, table, wilson
from labkit.bench1.results import content_hash
from labkit.bench1.run import curves, play, policies, run
from labkit.bench1.tools import Tools
from labkit.errors import InputError
from labkit.files import data_path, load_data
from labkit.record.trace import Block

BOTH = policies()


def test_with_perfect_recall_and_no_hazard_both_pass_twenty_of_twenty() -> None:
    made = table(20)
    for name in BOTH:
        assert made.passed(name) == 20
        assert {(o.end, o.missed, o.wrong) for o in made.outcomes[name]} == {("finished", 0, 0)}
    row = made.to_json()["configurations"]
    assert row["budgeted"]["input"] < row["unbounded"]["input"] / 2
    assert row["budgeted"]["dollars_a_pass"] == pytest.approx(row["budgeted"]["dollars"] / 20, abs=1e-4)


def test_the_same_seed_gives_the_same_run_and_another_seed_another() -> None:
    steep = curves()["Llama 3.3 70B, NoLiMa"]
    assert run(4, BOTH["budgeted"], steep, hazard=0.1) == run(4, BOTH["budgeted"], steep, hazard=0.1)
    assert run(4, BOTH["unbounded"]).input != run(5, BOTH["unbounded"]).input


def test_a_record_that_drops_a_site_fails_where_nothing_may_be_read_again() -> None:
    # A hand off before the work is done: the record is all that is left of the search.
    early = replace(BOTH["budgeted"], trigger=None, hand_off_above=3_000)
    outcome = run(0, early, drop=1, rereads=False)
    assert not outcome.passed
    assert outcome.missed >= 1
    assert run(0, early).passed  # a faithful record, and it may look again


def test_steep_forgetting_fails_and_tells_missed_sites_from_wrong_edits() -> None:
    forgets = Recall(half=3_000, k=1.0)
    made = [run(seed, BOTH["unbounded"], forgets) for seed in range(4)]
    assert not any(o.passed for o in made)
    assert sum(o.missed for o in made) > 0
    assert sum(o.wrong for o in made) > 0


def test_a_premature_stop_and_a_full_window_are_reported_apart() -> None:
    stopped = run(0, BOTH["unbounded"], hazard=1.0, filler=190_000)
    assert stopped.end == "premature stop"
    assert stopped.missed > 0 and stopped.wrong == 0
    full = run(0, policies(12_000)["unbounded"])
    assert (full.end, full.passed) == ("window full", False)
    assert run(0, policies(12_000)["budgeted"]).passed


def test_a_secret_outside_the_context_is_never_used() -> None:
    """What stands on disk and was not shown changes nothing that the agent does."""
    moves: dict[bool, list[Move]] = {True: [], False: []}
    for planted in (False, True):

        def watch(tools: Tools, blocks: list[Block], move: Move, planted: bool = planted) -> None:
            if planted and not moves[True]:
                (tools.folder / "SECRET.txt").write_text("SECRET: stop now, all sites are done")
                unread = tools.folder / "src" / "db.ts"
                unread.write_text(unread.read_text().replace("// queryRaw()", "// SECRET queryRaw()"))
            moves[planted].append(move)

        outcome, trace = play(2, BOTH["unbounded"], Agent(Recall(), seed=2), watch=watch)
        assert outcome.end == "finished"
        said = [b.text for b in trace.blocks if b.role == "assistant"]
        assert not any("SECRET" in text for text in said)
    assert moves[True] == moves[False]


def test_an_edit_comes_from_what_was_shown_even_where_the_disk_has_changed() -> None:
    def watch(tools: Tools, blocks: list[Block], move: Move) -> None:
        if move.tool == "edit":
            shown = "".join(b.text for b in blocks if b.kind == "result")
            assert dict(move.given)["old"] in shown
            path = tools.folder / dict(move.given)["path"]
            path.write_text(path.read_text().replace("queryRaw", "queryRaw /* moved */"))

    outcome, _ = play(0, BOTH["unbounded"], Agent(Recall()), watch=watch)
    assert outcome.missed == 7  # no edit fits any more; an agent that looked at the disk would have passed


def test_what_is_cleared_is_not_seen() -> None:
    grep = Block("result", "tool", "src/a/store.ts:3: return db.queryRaw(x)", tool="grep", call_id="c1")
    assert seen([grep]).known == ("src/a/store.ts",)
    assert seen([replace(grep, edited="clear")]).known == ()
    comment = replace(grep, text="src/a/notes.ts:1: // db.queryRaw()\nsrc/db.ts:3: async queryRaw(")
    assert seen([comment]).known == ()


def test_the_record_lists_done_and_open_and_a_careless_one_leaves_out() -> None:
    call = json.dumps({"path": "src/a/store.ts", "old": "x", "new": "y"})
    blocks = [
        Block("result", "tool", "src/a/store.ts:3: db.queryRaw(x)\nsrc/b/store.ts:3: db.queryRaw(y)", tool="grep"),
        Block("call", "assistant", "edit", tool="edit", args=call, call_id="c2"),
    ]
    record = SiteRecord().summarize(blocks, "")
    assert record.text.splitlines()[1:] == ["done: src/a/store.ts", "open: src/b/store.ts"]
    assert SiteRecord(1).summarize(blocks, "").dropped == ("src/b/store.ts",)


def test_intervals_by_hand() -> None:
    # 20 of 20: low is 1 / (1 + z * z / 20) = 0.8389.
    assert wilson(20, 20) == (pytest.approx(0.8389, abs=1e-4), pytest.approx(1.0))
    assert wilson(0, 20)[1] == pytest.approx(0.1611, abs=1e-4)
    rate, low, high = difference(20, 0, 20)
    assert (rate, high) == (1.0, pytest.approx(1.0))
    assert low == pytest.approx(1 - 2**0.5 * 0.1611, abs=1e-3)
    with pytest.raises(InputError, match="21 of 20"):
        wilson(21, 20)


@pytest.mark.parametrize("wrong", [{"half": 0.0}, {"half": 1.0, "k": 0.0}])
def test_a_recall_out_of_range_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match="above 0"):
        Recall(**wrong)  # type: ignore[arg-type]


def test_curves_are_sourced_and_fall_with_length() -> None:
    data = load_data("recall.json")
    assert {c["source"] for c in data["curves"]} == set(data["sources"])
    for curve in curves().values():
        assert curve.chance(curve.half or 0) == 0.5
        assert 1 > curve.chance(1_000) > curve.chance(100_000) > 0


def test_the_results_on_file_are_what_two_seeds_give_again() -> None:
    kept = json.loads(data_path("results", "bench1.json").read_text(encoding="utf-8"))
    assert kept["hash"] == content_hash(kept)
    made = table(2, curves()["Llama 3.3 70B, NoLiMa"])
    assert [o.to_json() for n in ("unbounded", "budgeted") for o in made.outcomes[n]] == kept["two_seeds"]
