"""Reading logs of Inspect AI."""

from __future__ import annotations

import json
import sys
import zipfile
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import InputError
from labkit.record.edits import as_sent
from labkit.record.formats import inspect_ai
from labkit.record.formats.inspect_sample import usage_from
from labkit.record.load import load
from labkit.record.trace import Edit, Trace, Usage
from mutants import mutants, read_damaged, sound

LOG = Path(__file__).resolve().parent.parent / "data" / "inspect_ai" / "lakes.json"


def spent(trace: Trace) -> Usage:
    """Everything that was billed, children too."""
    parts = [u for u in (trace.usage, *(spent(c) for c in trace.children)) if u is not None]
    return sum(parts, Usage())


def archive(path: Path, *samples: dict[str, Any], header: bool = True) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("_journal/start.json", "{}")
        for i, sample in enumerate(samples):
            out.writestr(f"samples/{i}_epoch_1.json", json.dumps(sample))
        if header:
            out.writestr("header.json", json.dumps({"eval": {}}))
    return path


@pytest.fixture
def sample() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(LOG.read_text(encoding="utf-8"))["samples"][0]
    return document


def test_each_model_event_is_a_request() -> None:
    trace = load(LOG)
    assert (trace.name, trace.source) == ("sample lake, epoch 1", "Inspect AI: lakes.json")
    assert [(r.start, r.model, r.id) for r in trace.requests] == [
        (1772442001.0, "chat-large-1", None),
        (1772442002.0, "chat-large-1", None),
        (1772442006.0, "chat-large-1", "msg_1"),
    ]
    # The raw request of the last call holds other schemas than its event: they are what was sent.
    assert [(p.system, json.loads(p.tools or "")[0].get("description")) for p in trace.prefixes] == [
        ("You measure lakes.", "Lower a line."),
        ("You measure lakes.", None),
    ]


def test_prompts_are_rebuilt_from_the_pool_with_attachments_put_back() -> None:
    first, second, last = (blocks for _, blocks in as_sent(load(LOG)))
    assert [(b.kind, b.text) for b in first] == [("text", "How deep is the lake?"), ("image", "[image/png]")]
    assert [(b.kind, b.text) for b in second[2:]] == [
        ("thinking", "I should measure."),
        ("text", "I measure it."),
        ("call", 'sound {"line":40}'),
        ("result", "31 metres"),
    ]
    assert (second[-1].tool, second[-1].args) == ("sound", "line=40")
    assert [b.text for b in last] == [
        "How deep is the lake?",
        "[image/png]",
        "Summary: the line showed 31 metres, the keeper sleeps.",
    ]


def test_a_compaction_is_an_edit_and_a_failed_call_answers_with_its_error() -> None:
    trace = load(LOG)
    # The error came and went with the call that failed: no answered request carried it.
    assert trace.edits == (Edit("summary", 3, (2, 3, 4, 5, 6), summary=7),)
    assert trace.blocks[-1].text == "Thank you."
    assert [w for w in trace.warnings if "call" in w] == ["1 calls failed or were not answered and are left out"]


def test_usage_is_disjoint_whether_the_provider_counts_the_cache_as_input_or_not() -> None:
    assert [r.usage for r in load(LOG).requests] == [
        Usage(100, output=20),
        Usage(60, 90, output=10),
        Usage(10, 60, 0, 40, output=6),
    ]
    counts = {"input_tokens": 4, "output_tokens": 7, "input_tokens_cache_read": 1, "input_tokens_cache_write": 2}
    assert usage_from(counts, "openai/gpt", {}) == Usage(1, 1, 2, output=7)
    assert usage_from(counts, "anthropic/claude", {}) == Usage(4, 1, 2, output=7)
    assert usage_from({"input_tokens": 0, "output_tokens": 0}, None, {}) is None


def test_subagents_and_graders_are_children_counted_once() -> None:
    trace = load(LOG)
    assert [(len(c.requests), c.usage) for c in trace.children] == [
        (2, Usage(100, output=10)),
        (1, Usage(70, output=4)),
    ]
    assert spent(trace) == Usage(100 + 60 + 10 + 100 + 70, 150, 0, 40, 36 + 10 + 4)


def test_a_subagent_that_calls_more_often_than_its_agent_is_still_the_child(
    tmp_path: Path, sample: dict[str, Any]
) -> None:
    # Two more calls of the subagent: four, where the agent has three.
    again = [e for e in sample["events"] if e["event"] == "model" and e["span_id"] == "kid"]
    sample["events"][-1:-1] = [json.loads(json.dumps(e)) for e in again]
    trace = load(archive(tmp_path / "a.eval", sample))
    assert (len(trace.requests), [len(c.requests) for c in trace.children]) == (3, [4, 1])


def test_a_subagent_inside_a_tool_event_is_a_child(tmp_path: Path, sample: dict[str, Any]) -> None:
    events = sample["events"]
    inner = [e for e in events if e.get("span_id") == "kid"]
    tool = next(e for e in events if e["event"] == "tool" and e["id"] == "c2")
    tool["events"] = [{k: v for k, v in e.items() if k != "span_id"} for e in inner]
    sample["events"] = [e for e in events if e.get("span_id") != "kid" and e.get("id") != "kid"]
    trace = load(archive(tmp_path / "a.eval", sample))
    assert (len(trace.requests), [len(c.requests) for c in trace.children]) == (3, [2, 1])


def test_answers_from_inspects_own_cache_are_not_billed(tmp_path: Path, sample: dict[str, Any]) -> None:
    next(e for e in sample["events"] if e["event"] == "model")["cache"] = "read"
    trace = load(archive(tmp_path / "a.eval", sample))
    assert trace.requests[0].usage is None
    assert "1 answers came from Inspect's own cache: they were not billed" in trace.warnings


def test_an_unfinished_archive_is_read_and_a_broken_sample_costs_only_itself(
    tmp_path: Path, sample: dict[str, Any]
) -> None:
    path = archive(tmp_path / "a.txt", sample, header=False)
    with zipfile.ZipFile(path, "a") as out:
        out.writestr("samples/9_epoch_1.json", "{")
    trace = load(path)
    assert len(trace.requests) == 3
    assert trace.warnings[-2:] == (
        "the log has no header: the evaluation did not finish",
        "1 samples of the archive cannot be read; skipped",
    )


def test_a_reference_to_what_is_not_there_is_said(tmp_path: Path, sample: dict[str, Any]) -> None:
    del sample["attachments"]["bbb2"]
    sample["message_pool"] = sample["message_pool"][:6]
    trace = load(archive(tmp_path / "a.eval", sample))
    assert any("attachments that are not in the log" in w for w in trace.warnings)
    assert "1 messages are not in the log's pool; left out" in trace.warnings
    assert any(b.text == "attachment://bbb2" for b in trace.blocks)


def test_zstd_entries_say_how_to_mend_them(
    tmp_path: Path, sample: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = archive(tmp_path / "a.eval", sample)
    monkeypatch.setattr(inspect_ai, "_ZSTD", zipfile.ZIP_DEFLATED)
    monkeypatch.delattr(zipfile, "ZIP_ZSTANDARD", raising=False)
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    monkeypatch.setitem(sys.modules, "backports.zstd", None)
    with pytest.raises(InputError, match=r"pip install backports\.zstd"):
        load(path)


def test_zstd_entries_are_read(tmp_path: Path, sample: dict[str, Any]) -> None:
    packed = pytest.importorskip("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    archives = zipfile if hasattr(zipfile, "ZIP_ZSTANDARD") else import_module(f"{packed.__name__}.zipfile")
    plain, path = archive(tmp_path / "a.eval", sample), tmp_path / "z" / "a.eval"
    path.parent.mkdir()
    with zipfile.ZipFile(plain) as old, archives.ZipFile(path, "w", 93) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    assert asdict(load(path)) == asdict(load(plain))
    # Damage within an entry costs the entry.
    data = bytearray(path.read_bytes())
    at = data.index(b"\x28\xb5\x2f\xfd")
    data[at + 8 : at + 40] = bytes(32)
    path.write_bytes(data)
    with pytest.raises(InputError, match="without samples"):
        load(path)


def test_a_sample_without_events_is_read_from_its_messages(tmp_path: Path, sample: dict[str, Any]) -> None:
    path = tmp_path / "a.json"
    usage = {"maker/chat-large": {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11}}
    path.write_text(json.dumps(sample | {"events": [], "model_usage": usage}), encoding="utf-8")
    trace = load(path)
    assert (trace.prefixes[0].system, [r.usage for r in trace.requests]) == ("You measure lakes.", [Usage(9, output=2)])
    assert any("rebuilt from its last messages" in w for w in trace.warnings)


def test_a_log_without_samples_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"eval": {}, "stats": {}, "results": {"value": NaN}}', encoding="utf-8")
    with pytest.raises(InputError, match="without samples"):
        load(path)


@given(data=st.data())
def test_damage_gives_a_trace_or_one_sentence(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged-inspect.json"
    read_damaged(path, data.draw(mutants(LOG.read_bytes())))


@given(at=st.integers(0, 3_000), byte=st.integers(0, 255), cut=st.booleans())
def test_a_damaged_archive_gives_a_trace_or_one_sentence(
    tmp_path_factory: pytest.TempPathFactory, at: int, byte: int, cut: bool
) -> None:
    folder = tmp_path_factory.getbasetemp()
    whole = archive(folder / "whole.eval", json.loads(LOG.read_text(encoding="utf-8"))["samples"][0]).read_bytes()
    at %= len(whole)
    read_damaged(folder / "damaged.eval", whole[:at] + bytes([byte]) + (b"" if cut else whole[at + 1 :]))


def test_real_logs_hold_their_totals(corpus: Path, index: dict[str, dict[str, Any]]) -> None:
    rows = {f: r for f, r in index.items() if r["format"] == "inspect"}
    assert len(rows) == 13
    for name, row in rows.items():
        if name.endswith("log_with_nan.txt"):
            with pytest.raises(InputError, match="without samples"):
                load(corpus / name)
            continue
        trace = load(corpus / name)
        sound(trace)
        samples = [trace] if trace.requests or not trace.children else list(trace.children)
        recorded = [u for u in row["oracle"].get("model_usage", []) if u]
        if recorded and "log_streaming" not in name:
            assert len(samples) == row["oracle"]["samples"]
            for one, totals in zip(samples, recorded, strict=True):
                (counts,) = totals.values()
                found = spent(one)
                assert (found.total_input, found.output) == (counts["input_tokens"], counts["output_tokens"])
                assert found.cache_read == counts.get("input_tokens_cache_read", 0)
        calls = sum(b.kind == "call" for one in samples for b in one.blocks)
        assert calls == row["calls"], name
    # INDEX lists each usage once; two of the four samples have the same.
    streaming = spent(load(corpus / "inspect" / "log_streaming.eval"))
    assert (streaming.total_input, streaming.output) == (60 + 60 + 66 + 66, 1 + 2 + 1 + 2)


def test_a_real_log_keeps_to_its_prompts(corpus: Path) -> None:
    trace = load(corpus / "inspect" / "2025-05-12_browser.json")
    assert [len(blocks) for _, blocks in as_sent(trace)] == [1, 3, 5, 7, 9]
    assert (trace.edits, trace.warnings) == ((), ())
    pooled = load(corpus / "inspect" / "log_message_deduplication.eval")
    assert len({b.message for b in pooled.blocks}) == 12
