"""What becomes of a compaction block: the real SDK against the local server, by its rules."""

from __future__ import annotations

import json
from typing import Any

import pytest

from labkit.course.compaction_bills import WAYS, bills, kept
from labkit.course.local_api import ON_DEMAND, THRESHOLD, LocalApi, serving
from labkit.files import data_path
from labkit.price.prices import Prices

anthropic = pytest.importorskip("anthropic", reason="the extra live is not installed")

CARD = Prices.from_multipliers(1_000_000, 5_000_000, read=0.1, write_5m=1.25)  # a token of input costs a dollar


def row(words: int) -> dict[str, Any]:
    return {"role": "user", "content": " row" * words}


def test_what_is_on_file_is_what_the_sdk_gets_again() -> None:
    stored = json.loads(data_path("results", "compaction_blocks.json").read_text(encoding="utf-8"))
    assert stored == json.loads(json.dumps(kept()))
    played, live = bills(live=True)
    read, on_file = bills(live=False)
    assert played == read
    assert live != on_file
    assert "not installed" in on_file


def test_the_ways_by_hand() -> None:
    """A history of 49,201 tokens and six messages of 1,000; a summary of 1,500, an answer of 1."""
    whole, text, placed, front, behind = bills(live=False)[0]
    assert [way.name for way in (whole, text, placed, front, behind)] == list(WAYS)
    # Appended whole it is summarized once; five more messages follow it, and the answers between them.
    assert (whole.compactions, whole.last) == (1, 1_500 + 5 * 1_000 + 5)
    # Only the text: every prompt is as long as before, passes the threshold, and is summarized again.
    assert (text.compactions, text.output) == (6, 6 * (1_500 + 1))
    assert text.read > 15 * whole.read
    # In place of the messages, or in front of them: then they are all billed on top of it.
    assert placed.last == 1_500 + 5 * 1_000 + 4
    assert front.last == placed.last + 49_201 + 1_000 + 1
    assert (behind.refused.partition(":")[0], placed.refused, front.refused) == ("compaction_block_misplaced", "", "")
    assert whole.dollars(CARD) == pytest.approx(0.1 * whole.read + 1.25 * whole.written + 5 * whole.output)
    assert text.dollars() > 1.5 * whole.dollars()
    assert front.dollars() > 1.9 * placed.dollars()


def ask(api: LocalApi, betas: list[str], messages: list[Any], **more: Any) -> Any:
    with anthropic.Anthropic(base_url=api.url, api_key="none", max_retries=0) as client:
        return client.beta.messages.create(model="m", max_tokens=9, messages=messages, betas=betas, **more)


def edits(tokens: int) -> dict[str, Any]:
    return {"edits": [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": tokens}}]}


def test_the_threshold_is_reached_and_not_below() -> None:
    with serving(" fact" * 10) as api:
        below = ask(api, [THRESHOLD], [row(49_999)], context_management=edits(50_000))
        assert [part.type for part in below.content] == ["text"]
        at = ask(api, [THRESHOLD], [row(50_000)], context_management=edits(50_000))
        assert [part.type for part in at.content] == ["compaction", "text"]
        # The top level leaves the compaction out; the passes have both.
        assert (at.usage.cache_creation_input_tokens, [i.type for i in at.usage.iterations]) == (
            10,
            ["compaction", "message"],
        )
        with pytest.raises(anthropic.BadRequestError, match="below the minimum of 50000"):
            ask(api, [THRESHOLD], [row(1)], context_management=edits(49_999))


def test_on_demand_the_block_stands_alone_and_comes_back_as_it_was() -> None:
    with serving(" fact" * 10) as api:
        made = ask(api, [ON_DEMAND], [row(40)], compaction={"type": "summarize"})
        assert (made.stop_reason, made.usage.input_tokens, made.usage.output_tokens) == ("compaction", 0, 0)
        assert made.usage.iterations[0].output_tokens == 10
        (block,) = made.model_dump(exclude_none=True)["content"]
        first = {"role": "assistant", "content": [block]}
        assert ask(api, [ON_DEMAND], [first, row(5)]).usage.cache_creation_input_tokens == 15
        with pytest.raises(anthropic.BadRequestError, match="compaction_block_misplaced"):
            ask(api, [ON_DEMAND], [row(5), first])
        with pytest.raises(anthropic.BadRequestError, match="compaction_signature_invalid"):
            ask(api, [ON_DEMAND], [{"role": "assistant", "content": [{**block, "content": "other"}]}, row(5)])
        with pytest.raises(anthropic.BadRequestError, match="needs the beta"):
            ask(api, [THRESHOLD], [row(4)], compaction={"type": "summarize"})


def test_the_cache_reads_what_it_has_written() -> None:
    with serving() as api:
        ask(api, [ON_DEMAND], [row(30)])
        again = ask(api, [ON_DEMAND], [row(30), {"role": "assistant", "content": "ok"}, row(7)]).usage
        assert (again.cache_read_input_tokens, again.cache_creation_input_tokens) == (30, 8)
        assert len(api.requests) == 2
