"""Live runs with the real SDKs against a local server: same tools, same policies, recorded, resumable, limited."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from labkit.bench1.live import Purse, live_policies, live_run
from labkit.bench1.live_api import LiveError, api
from labkit.bench1.live_log import Log
from labkit.bench1.live_table import live
from labkit.cli import main
from labkit.errors import InputError
from labkit.price.prices import Prices, prices
from labkit.record.load import load
from labkit.record.trace import Trace
from local_server import Server, serving
from model_server import Model

pytest.importorskip("anthropic")
pytest.importorskip("openai")
MODEL = "claude-haiku-5-5"
NOBODY = "http://127.0.0.1:9"
REPLY = {"anthropic": "anthropic", "chat": "chat", "responses": "items"}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with serving() as state:
        state.reply = Model().anthropic
        yield state


def speak(server: Server, name: str) -> str:
    server.reply = getattr(Model(), REPLY[name])
    return server.url if name == "anthropic" else f"{server.url}/v1"


def billed(trace: Trace) -> tuple[int, int]:
    """Input and output of a session and of what the provider did beside it."""
    whole = [trace, *trace.children]
    usages = [r.usage for t in whole for r in t.requests if r.usage is not None]
    return sum(u.total_input for u in usages), sum(u.output for u in usages)


@pytest.mark.parametrize("name", ["anthropic", "chat", "responses"])
def test_a_model_passes_and_its_sessions_load_and_cost_what_was_counted(
    server: Server, tmp_path: Path, name: str
) -> None:
    said: list[str] = []
    url = speak(server, name)
    made = live("m", 1, said.append, interface=name, base_url=url, out=tmp_path, given_prices="3,15")
    assert list(made.outcomes) == ["unbounded", "budgeted", *(["server"] if name != "chat" else [])]
    assert len(said) == len(made.outcomes)
    for configuration, (outcome,) in made.outcomes.items():
        assert (outcome.passed, outcome.end, outcome.missed) == (True, "finished", 0), configuration
        assert outcome.seconds > 0
        trace = load(tmp_path / f"{configuration}-0.jsonl")
        assert billed(trace) == (outcome.input, outcome.output)
        assert outcome.dollars == pytest.approx((3 * outcome.input + 15 * outcome.output) / 1e6)
    assert made.spent == pytest.approx(sum(o.dollars for rows in made.outcomes.values() for o in rows))
    if name == "anthropic":  # the other two bill a fixed number there
        assert made.outcomes["budgeted"][0].peak < made.outcomes["unbounded"][0].peak / 2
    assert "dummy" not in (tmp_path / "unbounded-0.jsonl").read_text()


def test_the_server_gets_the_policy_in_its_own_words(server: Server, tmp_path: Path) -> None:
    live(MODEL, 1, print, base_url=server.url, out=tmp_path, configurations="server")
    sent = server.requests[3]["context_management"]["edits"]
    assert [edit["type"] for edit in sent] == ["clear_tool_uses_20250919", "compact_20260112"]
    assert sent[0]["trigger"] == {"type": "input_tokens", "value": 6_000}
    beta = {k.lower(): v for k, v in server.headers[3].items()}["anthropic-beta"]
    assert "context-management-2025-06-27" in beta and "compact-2026-01-12" in beta
    # Nothing is taken out by the client: each request begins with the whole one before.
    for before, after in pairwise(server.requests):
        mark = ', "cache_control": {"type": "ephemeral"}'
        plain = [json.dumps(r["messages"]).replace(mark, "") for r in (before, after)]
        assert plain[1].startswith(plain[0][:-1])
    speak(server, "responses")
    server.requests.clear()
    url = f"{server.url}/v1"
    kept = {"base_url": url, "out": tmp_path / "r", "given_prices": "0,0"}
    live("m", 1, print, interface="responses", configurations="server", **kept)
    assert server.requests[0]["context_management"] == [{"type": "compaction", "compact_threshold": 50_000}]


def test_a_compaction_by_the_server_goes_back_as_it_came_and_is_billed(server: Server, tmp_path: Path) -> None:
    model = Model()
    summary = {"type": "compaction", "content": "So far.\nedited: src/nowhere.ts"}
    one = {"input_tokens": 700, "output_tokens": 20}
    cleared = {"type": "clear_tool_uses_20250919", "cleared_tool_uses": 2, "cleared_input_tokens": 900}

    def reply(request: dict) -> list[dict]:
        content = model.anthropic(request)
        server.usage, server.extra = one, {"context_management": {"applied_edits": [cleared]}}
        if model.calls == 5:
            passes = [{"type": "compaction", "input_tokens": 9_000, "output_tokens": 300}, {"type": "message", **one}]
            server.usage = {**one, "iterations": passes}
            return [summary, *content]
        return content

    server.reply = reply
    purse = Purse(5, Prices.from_multipliers(3, 15, read=1, write_5m=1, write_1h=1))
    log = Log(tmp_path / "s.jsonl")
    with closing(api("anthropic", server.url)) as spoken:
        made = live_run(0, live_policies()["server"], spoken, MODEL, log, purse)
    back = [part for message in server.requests[5]["messages"] for part in message["content"]]
    assert summary in back
    assert made.input == 700 * made.requests + 9_000 and made.output == 20 * made.requests + 300
    trace = load(tmp_path / "s.jsonl")
    assert [child.kind for child in trace.children] == ["compaction"]
    assert billed(trace) == (made.input, made.output)
    assert any(edit.kind == "clear" for edit in trace.edits)


def test_a_run_goes_on_where_it_was_cut_off(server: Server, tmp_path: Path) -> None:
    model = Model()

    def reply(request: dict) -> list[dict]:
        if model.calls == 6:
            model.calls += 1
            server.fail = [401]
        return model.anthropic(request)

    server.reply = reply
    with pytest.raises(LiveError, match=r"0 of 2 runs are done.*answered 401"):
        live(MODEL, 1, print, base_url=server.url, out=tmp_path, configurations="unbounded,budgeted")
    file = tmp_path / "unbounded-0.jsonl"
    kept = len(file.read_text().splitlines())
    assert kept == len(server.requests) - 1
    with file.open("a") as torn:
        torn.write('{"start": 1, "requ')
    said: list[str] = []
    asked = len(server.requests)
    made = live(MODEL, 1, said.append, base_url=server.url, out=tmp_path, configurations="unbounded,budgeted")
    assert f"{kept} of them kept from before" in said[0]
    assert made.outcomes["unbounded"][0].passed and made.outcomes["budgeted"][0].passed
    total = sum(o.requests for rows in made.outcomes.values() for o in rows)
    assert len(server.requests) - asked == total - kept
    # Once more: everything is kept, nothing is asked, the same comes out.
    asked = len(server.requests)
    again = live(MODEL, 1, print, base_url=server.url, out=tmp_path, configurations="unbounded,budgeted")
    assert (len(server.requests), again.outcomes) == (asked, made.outcomes)
    assert again.spent == pytest.approx(made.spent)  # added up in another order


def test_other_settings_and_damage_are_refused(server: Server, tmp_path: Path) -> None:
    kept = {"base_url": server.url, "out": tmp_path, "configurations": "unbounded"}

    def again(model: str) -> None:
        live(model, 1, print, interface="anthropic", given_prices="1,1", **kept)

    again("m")
    with pytest.raises(InputError, match=r"other settings \(request 1 differs in model\)"):
        again("n")
    file = tmp_path / "unbounded-0.jsonl"
    file.write_text("{}\n" + file.read_text())
    with pytest.raises(InputError, match=r"line 1 of .* is damaged"):
        again("m")


def test_the_spend_limit_holds_before_a_request_is_sent(server: Server, tmp_path: Path) -> None:
    card = prices(MODEL)
    kept = {"base_url": server.url, "out": tmp_path, "configurations": "unbounded"}
    limit = 10 * 8_000 * card.output / 1e6
    with pytest.raises(LiveError, match=r"is spent and the next request may cost .*: give a higher --spend"):
        live(MODEL, 1, print, spend=limit / 40, **kept)
    assert server.requests == []
    with pytest.raises(LiveError, match="higher --spend"):
        live(MODEL, 1, print, spend=limit / 8, **kept)
    asked = len(server.requests)
    assert 1 < asked < 18
    spent = sum(card.request_cost(r.usage) for r in load(tmp_path / "unbounded-0.jsonl").requests if r.usage)
    assert spent < limit / 8
    assert live(MODEL, 1, print, spend=limit * 10, **kept).outcomes["unbounded"][0].passed
    assert len(server.requests) == 18


def test_what_a_model_does_wrong_is_an_answer_or_an_end(server: Server, tmp_path: Path) -> None:
    script = iter([
        [{"type": "tool_use", "id": "a", "name": "fly", "input": {}}],
        [{"type": "tool_use", "id": "b", "name": "read", "input": {"path": "../../etc/passwd"}},
         {"type": "tool_use", "id": "c", "name": "edit", "input": {"path": 7}}],
        [{"type": "tool_use", "id": "d", "name": "read", "input": {"path": "src/none.ts"}}],
        [{"type": "text", "text": "I give up."}],
    ])  # fmt: skip
    server.reply = lambda request: next(script)
    log = Log(tmp_path / "s.jsonl")
    spoken = api("anthropic", server.url)
    purse = Purse(5, prices(MODEL))
    made = live_run(0, live_policies()["unbounded"], spoken, MODEL, log, purse)
    assert (made.end, made.missed, made.wrong, made.passed) == ("premature stop", 7, 0, False)
    parts = [p for m in server.requests[-1]["messages"] for p in m["content"]]
    results = [p["content"] for p in parts if p["type"] == "tool_result"]
    assert len(results) == 4 and all(text.startswith("Error: ") for text in results)
    assert not any("/tmp" in text or "bench1-" in text for text in results)
    for reason, end in (("max_tokens", "cut off"), ("refusal", "refused")):
        server.reply, server.stop_reason = lambda request: [{"type": "text", "text": "x"}], reason
        other = Log(tmp_path / f"{reason}.jsonl")
        assert live_run(0, live_policies()["unbounded"], spoken, MODEL, other, purse).end == end
    spoken.close()


def test_a_result_kept_whole_can_be_read_again(server: Server, tmp_path: Path) -> None:
    seen: list[str] = []

    def reply(request: dict) -> list[dict]:
        texts = [p["content"] for m in request["messages"] for p in m["content"] if p["type"] == "tool_result"]
        if not texts:
            return [{"type": "tool_use", "id": "a", "name": "list", "input": {}}]
        if len(texts) == 1:
            path = texts[0].split("whole result is in ")[1].split(" ")[0]
            return [{"type": "tool_use", "id": "b", "name": "read", "input": {"path": path}}]
        seen.extend(texts)
        return [{"type": "text", "text": "ok"}]

    server.reply = reply
    policy = replace(live_policies()["budgeted"], cap=60)
    with closing(api("anthropic", server.url)) as spoken:
        made = live_run(0, policy, spoken, MODEL, Log(tmp_path / "s.jsonl"), Purse(5, prices(MODEL)))
    assert made.end == "premature stop"
    assert len(seen) == 2 and "left out" in seen[0] and "left out" not in seen[1]
    assert seen[1].count("\n") == 39


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--live", MODEL], "ANTHROPIC_API_KEY is not set"),
        (["--live", "gpt-5.5"], "OPENAI_API_KEY is not set"),
        (["--live", "nobody"], "give --prices INPUT,OUTPUT"),
        (["--live", MODEL, "--prices", "3"], "--prices is '3'"),
        (["--live", MODEL, "--api", "antropic"], "did you mean 'anthropic'"),
        (["--live", MODEL, "--spend", "0", "--base-url", NOBODY], "give dollars above 0"),
        (["--live", MODEL, "--curve", "x"], "--curve is the built-in agent's"),
        (["--spend", "3"], "--spend is for a live run"),
        (["--live", MODEL, "--base-url", NOBODY, "--configurations", "bugeted"], "did you mean 'budgeted'"),
        (["--live", "m", "--prices", "0,0", "--base-url", NOBODY, "--configurations", "server"], "chat cannot edit"),
    ],
)  # fmt: skip
def test_the_command_line_says_what_is_wrong(
    options: list[str], why: str, capsys: pytest.CaptureFixture[str], server: Server, tmp_path: Path
) -> None:
    assert main(["bench1", "--seeds", "1", *options, *(["--out", str(tmp_path)] if "--live" in options else [])]) == 2
    assert why in capsys.readouterr().err


def test_the_command_line_and_a_missing_sdk(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["bench1", "--live", MODEL, "--base-url", server.url, "--seeds", "1", "--out", str(tmp_path)]
    assert main([*options, "--json"]) == 0
    out = capsys.readouterr()
    found = json.loads(out.out)
    assert found["simulated"] is False and found["configurations"]["budgeted"]["passed"] == 1
    assert set(found["differences"]) == {"budgeted", "server"}
    assert "seed 1 of 1, unbounded: passed" in out.err
    assert main(options) == 0
    assert "BENCH-1, live: claude-haiku-5-5" in capsys.readouterr().out
    monkeypatch.setitem(__import__("sys").modules, "anthropic", None)
    assert main(options) == 2
    assert "anthropic is not installed: pip install -e '.[live]'" in capsys.readouterr().err


def test_a_window_that_is_occupied_before(server: Server, tmp_path: Path) -> None:
    """The same work beside 9,000 tokens of no use: they are sent, the thresholds rise with them, a pass is counted."""
    kept = {"base_url": server.url, "out": tmp_path, "configurations": "unbounded,budgeted,server"}
    made = live(MODEL, 1, print, occupied=(0, 9_000), **kept)
    names = [f"{name}{more}" for name in ("unbounded", "budgeted", "server") for more in ("", " +9,000")]
    assert list(made.outcomes) == names
    assert all(rows[0].passed for rows in made.outcomes.values())
    plain, full = (made.outcomes[name][0] for name in ("budgeted", "budgeted +9,000"))
    # The local server bills messages alone, so the same moves cost the same there.
    assert (plain.requests, plain.rereads) == (full.requests, full.rereads)
    sizes = [len(r["system"][0]["text"]) for r in server.requests]
    assert max(sizes) > 20_000 and sorted(set(sizes))[0] < 500 and len(set(sizes)) == 2
    edits = [e for r in server.requests for e in r.get("context_management", {}).get("edits", [])]
    triggers = {e["trigger"]["value"] for e in edits if e["type"] == "clear_tool_uses_20250919"}
    assert triggers == {6_000, 15_000}
    found = made.to_json()
    assert found["occupied"]["budgeted"] == {"rows": [[0, 1, 0.2065, 1.0], [9000, 1, 0.2065, 1.0]], "drop_at": None}
    assert set(found["differences"]) == {"budgeted", "server", "budgeted +9,000", "server +9,000"}
    assert "budgeted: no drop that so many runs can show" in made.lines()
    asked = len(server.requests)
    again = live(MODEL, 1, print, occupied=(0, 9_000), **kept)
    assert (len(server.requests), again.outcomes) == (asked, made.outcomes)
    assert load(tmp_path / "budgeted-with-9000-0.jsonl").requests
