"""The doctor sees what is wrong, says how to mend it, and never raises."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from labkit import doctor, files
from labkit.doctor import Check, checks, healthy, paste
from labkit.record import tokens


def by_name(name: str) -> Check:
    return next(check for check in checks() if check.name == name)


@pytest.fixture
def own_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A copy of ``data`` that a test may damage."""
    copy = tmp_path / "data"
    shutil.copytree(files.data_path(), copy)
    for module in (doctor, tokens):
        monkeypatch.setattr(module, "data_path", copy.joinpath)
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    tokens.get_counter.cache_clear()
    yield copy
    tokens.get_counter.cache_clear()


def test_this_installation_is_healthy() -> None:
    assert [check for check in checks() if not check.ok] == []
    assert healthy(checks())


def test_every_wrong_check_says_how_to_mend_it(own_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(own_data)
    monkeypatch.setattr(doctor, "_version", lambda package: "not installed")
    monkeypatch.setattr(doctor, "LAB_EXTENSIONS", {"no-such-extension": "something"})
    monkeypatch.setenv("LABKIT_HOME", "/dev/null/x")
    wrong = {check.name: check for check in checks() if not check.ok}
    assert set(wrong) == {"packages", "data", "counter", "widgets", "front end", "progress"}
    assert all(check.fix for check in wrong.values())


def test_a_damaged_tokenizer_is_seen(own_data: Path) -> None:
    vocabulary = own_data / "tokenizers" / tokens.O200K_FILE
    vocabulary.write_bytes(vocabulary.read_bytes()[:-1])
    assert by_name("data").found == "the tokenizer file is missing or damaged"
    assert by_name("counter").found.startswith("chars/4")


def test_a_missing_run_is_seen(own_data: Path) -> None:
    shutil.rmtree(own_data / "traces")
    (own_data / "prices.json").unlink()
    assert by_name("data").found == "missing prices.json, traces/*.jsonl"


def test_a_package_outside_its_bounds_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda package: "1.2" if package == "plotly" else real(package))
    check = by_name("packages")
    assert not check.ok
    assert check.found == "plotly 1.2 (asked for: <8,>=6.3)"


def test_another_front_end_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VSCODE_PID", "1")
    check = by_name("front end")
    assert check.ok
    assert check.found == "VS Code, where panels may stay blank"


def test_old_prices_are_named_but_do_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "stale", lambda: doctor_stale(date(2099, 1, 1)))
    check = by_name("prices")
    assert check.ok
    assert check.found == "older than 120 days: prices.json, cache_rules.json, presets.json"


def doctor_stale(on: date) -> tuple[str, ...]:
    from labkit.price.prices import stale

    return stale(on)


def test_a_check_that_breaks_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Check:
        raise RuntimeError("no luck")

    monkeypatch.setattr(doctor, "_fast", broken)
    check = by_name("fast")
    assert not check.ok
    assert check.found == "could not be checked (RuntimeError: no luck)"


def test_paste_is_one_line_without_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LABKIT_HOME", "/dev/null/someone")
    line = paste()
    assert "\n" not in line
    assert "progress WRONG: predictions cannot be kept in <progress>" in line
    assert str(Path.home()) not in line.replace(" ~", "")
