"""A redacted session says nothing of the original but its sizes, and reads like it."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import asdict
from pathlib import Path

import pytest

from labkit import cli
from labkit.errors import InputError
from labkit.files import data_path
from labkit.ladder.presets import load_policy
from labkit.price.cache import cache_rules
from labkit.price.prices import prices
from labkit.record.load import load
from labkit.record.redact import known_words, redact
from labkit.record.redact_words import ERRORS, WORD, Pseudonyms
from labkit.record.sidecar import sidecar_path
from labkit.record.sizes import measure
from labkit.record.tokens import get_counter
from labkit.replay.audit import audit
from labkit.replay.bill import bill
from labkit.replay.replay import replay

SAMPLE = next(data_path("sessions", "sample").glob("*.jsonl"))
KEY = b"only for the tests"

GITHUB = "ghp_" + "1A2b3C4d5E6f7G8h9I0j1K2l3M4n5O6p7Q8r"
ANTHROPIC = "sk-" + "ant-api03-Zz9Yy8Xx7Ww6Vv5Uu4Tt3Ss2Rr1Qq0"
MAIL = "erika.mustermann@geheim-firma.example"
CHINESE = "请不要告诉任何人这个密码"
HINDI = "गोपनीय"
SECRET = base64.b64encode(b"the password is swordfish, tell no one" * 4).decode()
PLANTED = (GITHUB, ANTHROPIC, MAIL, "mustermann", "geheim", CHINESE, HINDI, SECRET, SECRET[:24], "swordfish", "Erika")


def words_in(value: object) -> set[str]:
    """The words of all strings and keys, without the short numbers that JSON in a string may hold."""
    if isinstance(value, dict):
        return set().union(*(words_in(k) | words_in(v) for k, v in value.items()))
    if isinstance(value, list):
        return set().union(*map(words_in, value))
    if not isinstance(value, str):
        return set()
    words = {w for w in WORD.findall(value) if len(w) > 5 or not (w.isascii() and w.isdigit())}
    return words - {*"nrt", "true", "false", "null"}


def words_of(paths) -> set[str]:
    lines = [line for path in paths for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    return set().union(*(words_in(json.loads(line)) for line in lines))


def tables(trace) -> dict:
    """The audit without names of files and runs; of a symptom all but its text."""
    given = audit(trace).to_json()
    for name in ("name", "source"):
        given.pop(name, None)
    for symptom in given["symptoms"]:
        symptom.pop("what")
    return given


@pytest.mark.parametrize("name", ["invoice-60", "support-40"])
def test_no_word_outside_the_list_and_equal_replays_of_a_run(tmp_path, name):
    given, out = data_path("traces", f"{name}.jsonl"), tmp_path / f"{name}.jsonl"
    done = redact(given, out, also=cli.REHEARSED)
    assert done.differs == ()
    kept = words_in(list(done.kept) + list(done.ids))
    assert words_of([given]) & words_of([out]) <= kept
    before, after = load(given), load(out)
    assert tables(before) == tables(after)
    assert measure(before).blocks == measure(after).blocks
    assert measure(before, get_counter("chars/4")).blocks == measure(after, get_counter("chars/4")).blocks
    for policy in ("article", "default", "none"):
        first, second = (replay(t, load_policy(policy)) for t in (before, after))
        assert [row.without_found() for row in first.rows] == [row.without_found() for row in second.rows]
        assert first.events == second.events
        card = prices("claude-opus-4-5")
        # The higher charge for re-reads rests on words that can be told from chance; a pseudonym is another word.
        one, other = (asdict(bill(r, card)) | {"reread_high": None} for r in (first, second))
        assert one == other
    rules = cache_rules("claude-opus-4-5")
    assert replay(before, load_policy("none"), rules).rows == replay(after, load_policy("none"), rules).rows


def test_no_word_outside_the_list_and_equal_audit_of_a_session_with_subagents(tmp_path):
    out = tmp_path / SAMPLE.name
    done = redact(SAMPLE, out)
    assert done.differs == ()
    assert [p.name for p in done.files] == [SAMPLE.name, "agent-a4226906.jsonl", f"{SAMPLE.name}.sizes.json"]
    originals = [SAMPLE, *SAMPLE.with_suffix("").rglob("*.jsonl")]
    kept = words_in(list(done.kept) + list(done.ids))
    assert words_of(originals) & words_of(done.files[:-1]) <= kept
    assert tables(load(SAMPLE)) == tables(load(out))
    assert len(load(out).children) == 1


def test_without_its_sidecar_the_sizes_are_those_of_the_pseudonyms(tmp_path):
    out = tmp_path / SAMPLE.name
    redact(SAMPLE, out)
    sidecar_path(out).unlink()
    assert measure(load(out)).blocks != measure(load(SAMPLE)).blocks


def test_a_damaged_sidecar_costs_a_warning(tmp_path):
    out = tmp_path / SAMPLE.name
    redact(SAMPLE, out)
    for damage in ("", "[]", '{"format":"labkit-sizes","version":1,"counts":{"o200k_base":{"a":"b"}}}'):
        sidecar_path(out).write_text(damage)
        trace = load(out)
        assert trace.counts == {}
        assert any("sizes are those of the pseudonyms" in w for w in trace.warnings)


def planted_session(folder: Path) -> Path:
    """A session with secrets wherever a string can stand."""
    png = (
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (800).to_bytes(4, "big") + (600).to_bytes(4, "big") + b"\x08\2" + b"x" * 400
    )
    nested = json.dumps({"note": f"Erika {MAIL}", GITHUB: [CHINESE, 4111111111111111]}, indent=1)
    common = {"sessionId": "5e0c1d5a-7c1b-4f0e-9d35-3b1f6f2a9c11", "cwd": "/home/Erika/swordfish", GITHUB: MAIL}
    common |= {"timestamp": "2026-03-01T10:00:00.000Z", "version": "2.1.0", "gitBranch": f"fix/{ANTHROPIC}"}
    image = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(png).decode()}
    answer = [
        {"type": "thinking", "thinking": f"{CHINESE} {HINDI}", "signature": SECRET},
        {"type": "redacted_thinking", "data": SECRET},
        {"type": "text", "text": f"DECISION: mail {MAIL}, 4,711 EUR\nPaymentError: swordfish"},
        {"type": "tool_use", "id": "toolu_01A", "name": "Write", "input": {
            "file_path": "/home/Erika/notes.py", "content": f"{SECRET}\n{nested}", "name": "Erika", "id": GITHUB,
            "model": ANTHROPIC, "input": {"name": GITHUB, "input": MAIL}, "born": "1990-05-01 Erika"}},
    ]  # fmt: skip
    result = [{"type": "text", "text": nested}, {"type": "image", "source": image}]
    usage = {"input_tokens": 2_000, "output_tokens": 300, "cache_read_input_tokens": 0}
    lines = [
        {**common, "type": "user", "uuid": "u1", "message": {"role": "user", "content": f"Hi {GITHUB} {ANTHROPIC}!"}},
        {**common, "type": "assistant", "uuid": "u2", "parentUuid": "u1", "requestId": ANTHROPIC, "message": {
            "id": GITHUB, "role": "assistant", "model": "claude-opus-4-5", "stop_reason": "tool_use", "content": answer,
            "usage": usage}},
        {**common, "type": "user", "uuid": "u3", "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_01A", "content": result}]},
            "toolUseResult": {"filePath": "/home/Erika/notes.py", "structuredPatch": [MAIL]}},
        {**common, "type": "user", "uuid": "u4", "message": {"role": "user", "content": [
            {"type": "text", "text": f"data:image/png;base64,{SECRET}"}]}},
    ]  # fmt: skip
    path = folder / "planted.jsonl"
    text = "\n".join(json.dumps(line, ensure_ascii=i % 2 == 0) for i, line in enumerate(lines))
    path.write_text(text + '\n{"type": "user", "message": {"content": "cut ' + GITHUB + " " + MAIL, encoding="utf-8")
    return path


def test_planted_secrets_are_gone(tmp_path):
    given = planted_session(tmp_path)
    before = given.read_text(encoding="utf-8")
    assert all(secret in before for secret in (GITHUB, ANTHROPIC, MAIL, HINDI, SECRET, "swordfish"))
    out = tmp_path / "out.jsonl"
    done = redact(given, out)
    text = "".join(p.read_text(encoding="utf-8") for p in done.files)
    decoded = text + str([json.loads(line) for line in out.read_text(encoding="utf-8").split("\n")[:-1] if line])
    for secret in (*PLANTED, *CHINESE, *HINDI, "4111111111111111", "4,711", "1990"):
        assert secret not in decoded, secret
    # The end of the key, whatever stands before it.
    assert GITHUB[4:] not in decoded
    assert ANTHROPIC[-12:] not in decoded
    answer = json.loads(out.read_text(encoding="utf-8").split("\n")[1])["message"]["content"]
    assert (answer[0]["signature"], answer[1]["data"]) == (" ", " ")
    assert [b.kind for b in load(out).blocks] == [b.kind for b in load(given).blocks]
    assert [b.text for b in load(out).blocks if b.kind == "image"] == ["[image/png 800x600]"]
    assert measure(load(out)).blocks == measure(load(given)).blocks


def test_form_stays(tmp_path):
    given = planted_session(tmp_path)
    out = tmp_path / "out.jsonl"
    redact(given, out)
    before, after = load(given), load(out)
    said = next(b.text for b in after.blocks if b.text.startswith("DECISION: "))
    assert said.count("\n") == 1
    assert "Error: " in said.split("\n")[1]
    call = next(b for b in after.blocks if b.kind == "call")
    assert call.tool == "Write"
    path = json.loads(call.text.removeprefix("Write "))["file_path"]
    assert path.count("/") == 3
    assert path.endswith(".py")
    assert [b.text.count("\n") for b in before.blocks] == [b.text.count("\n") for b in after.blocks]
    # "Erika" is one word, so it has one pseudonym, in the path and in the result.
    result = next(b.text for b in after.blocks if b.kind == "result")
    assert path.split("/")[2] in result


def test_two_runs_under_random_keys_have_nothing_in_common(tmp_path):
    given = planted_session(tmp_path)
    texts = []
    for name in ("a", "b"):
        redact(given, tmp_path / f"{name}.jsonl")
        texts.append(load(tmp_path / f"{name}.jsonl").blocks[0].text)
    assert texts[0] != texts[1]


def test_the_key_is_not_written(tmp_path):
    key = b"0123456789abcdefghijklmnopqrstuv"
    done = redact(planted_session(tmp_path), tmp_path / "out.jsonl", key=key)
    written = b"".join(p.read_bytes() for p in done.files)
    assert key not in written
    assert key.hex().encode() not in written


def test_pseudonyms_are_one_to_one_and_new():
    given = {f"w{i}" for i in range(3_000)} | set("abcdefgh") | {"Erika", "erika", "12", "7"}
    names = Pseudonyms({w.lower() for w in given}, KEY)
    made = {word: names.word(word) for word in given}
    assert len(set(made.values())) == len(given)
    assert not set(made.values()) & given
    assert made["12"].isdigit()
    assert names.text("x ValueError: y").split()[1] == "ValueError:"
    assert "ValueError" in ERRORS
    assert names.word("StripeError").endswith("Error")
    assert "Stripe" not in names.word("StripeError")


def test_a_line_of_two_values_and_a_torn_one_read_as_before(tmp_path):
    lines = SAMPLE.read_text(encoding="utf-8").split("\n")
    lines[3] += lines[4]
    lines[4] = lines[6][:300]
    given = tmp_path / "torn.jsonl"
    given.write_text("\n".join(lines), encoding="utf-8")
    done = redact(given, tmp_path / "out.jsonl")
    before, after = load(given), load(tmp_path / "out.jsonl")
    assert done.differs == ()
    assert measure(before).blocks == measure(after).blocks
    assert [w.split(":")[0] for w in before.warnings] == [w.split(":")[0] for w in after.warnings]
    assert "2 values on one line" in after.warnings[0]


def test_a_tool_with_a_strange_name_is_said_and_sizes_stay(tmp_path):
    given = tmp_path / "strange.jsonl"
    given.write_text(SAMPLE.read_text(encoding="utf-8").replace('"name":"TodoWrite"', '"name":"to do: Erika"'))
    done = redact(given, tmp_path / "out.jsonl")
    assert [sentence.partition(" of ")[0] for sentence in done.differs] == ["8 calls and results"]
    assert measure(load(given)).blocks == measure(load(tmp_path / "out.jsonl")).blocks
    assert "Erika" not in (tmp_path / "out.jsonl").read_text(encoding="utf-8")


def test_known_words_are_words_of_formats():
    assert {"cache_creation_input_tokens", "parentUuid", "tool_use_id"} <= known_words()
    assert not any(len(word) > 80 or "\n" in word for word in known_words())


def test_nothing_is_overwritten(tmp_path):
    out = tmp_path / "out.jsonl"
    out.write_text("mine")
    with pytest.raises(InputError, match="exists: give a name that is free"):
        redact(SAMPLE, out)
    assert out.read_text() == "mine"


@pytest.mark.parametrize(
    "given",
    [
        "codex",
        "gemini/chat.json",
        "opencode/export.json",
        "kimi/wire.jsonl",
        "openhands",
        "pi",
        "tau_bench",
        "swe_agent",
    ],
)
def test_other_formats_keep_their_sizes(tmp_path, given):
    source = Path(__file__).parent / "data" / given
    if source.is_dir():
        source = sorted(p for p in source.iterdir() if p.is_file())[0]
    out = tmp_path / "out" / source.name
    done = redact(source, out)
    before, after = load(source), load(out)
    apart = [sentence for sentence in done.differs if "subagents" not in sentence and "no price" not in sentence]
    assert apart == []
    assert measure(before).blocks == measure(after).blocks
    assert before.usage == after.usage


def test_the_command_prints_what_it_kept(tmp_path, capsys):
    out = tmp_path / "out.jsonl"
    assert cli.main(["redact", str(SAMPLE), str(out)]) == 0
    printed = capsys.readouterr().out
    assert f"wrote {out}" in printed
    assert " tool_use_id " in printed
    assert cli.main(["redact", str(SAMPLE), str(out)]) == 2
    assert "exists" in capsys.readouterr().err


@pytest.mark.parametrize("alone", [True, False])
def test_packed_sessions_are_redacted_too(alone: bool, tmp_path: Path) -> None:
    """The copies are not packed, and read like the originals."""
    folder = tmp_path / "given"
    folder.mkdir()
    for file in (Path(__file__).parent / "data" / "codex").glob("*.jsonl"):
        (folder / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
    given = min(folder.iterdir(), key=lambda p: p.stat().st_size) if alone else folder  # the agent's own
    done = redact(given, tmp_path / ("out.jsonl" if alone else "out"), key=b"k")
    assert done.differs == ()
    assert all(path.suffix in (".json", ".jsonl") for path in done.files)
    assert "parts.txt" not in "".join(path.read_text(encoding="utf-8") for path in done.files)


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "1e308", "5e-324"])
def test_numbers_that_are_none_are_redacted_without_a_fault(number: str, tmp_path: Path) -> None:
    lines = SAMPLE.read_text(encoding="utf-8").splitlines()[:6]
    lines.append(lines[-1][:-1] + f', "extra": {number}, "input": {{"x": {number}}}}}')
    (tmp_path / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert redact(tmp_path / "a.jsonl", tmp_path / "out.jsonl", key=KEY).files


def test_a_strange_file_beside_the_session_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("\n".join(SAMPLE.read_text(encoding="utf-8").splitlines()[:6]), encoding="utf-8")
    (tmp_path / "agent-1.jsonl").write_text('{"sessionId": {"a": 1}}\n{"sessionId": []}\n', encoding="utf-8")
    done = redact(tmp_path / "a.jsonl", tmp_path / "out.jsonl", key=KEY)
    assert [path.name for path in done.files] == ["out.jsonl", "out.jsonl.sizes.json"]
