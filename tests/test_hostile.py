"""Damaged files by the thousand: each gives a sound Trace or one sentence, within 5 seconds and a gigabyte."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

import hostile
from hostile import MEMORY, RAW, SECONDS, Outcome, attempt, make, run, seeds
from labkit.record.formats import codex

ROOT = Path(__file__).resolve().parent.parent


def given_corpus() -> Path | None:
    """The real sessions where they are; the made-up ones are damaged everywhere."""
    given = os.environ.get("LABKIT_CORPUS")
    folder = Path(given) if given else ROOT.parent / "shared" / "traces"
    return folder if folder.is_dir() else None


def judge(outcomes: list[Outcome]) -> None:
    faults = [f"mutant {o.number} of {o.seed}: {o.fault}" for o in outcomes if o.fault]
    assert not faults, f"{len(faults)} of {len(outcomes)}, the first:\n" + "\n".join(faults[:3])
    # Mutants that are all refused would show nothing of what stands behind a reader.
    assert sum(o.refused for o in outcomes) < 0.6 * len(outcomes)
    assert max(o.memory for o in outcomes) < MEMORY + 500_000_000


def test_three_thousand_mutants() -> None:
    judge(list(run(range(3_000), given_corpus())))


@pytest.mark.long
def test_a_hundred_thousand_mutants() -> None:
    judge(list(run(range(3_000, 103_000), given_corpus())))


def test_a_number_names_a_mutant_for_good() -> None:
    for number in range(20):
        seed, damaged, data = make(number, None)
        assert make(number, None) == (seed, damaged, data)


def test_mutants_cover_what_they_should() -> None:
    """Every format, and every kind of damage, is among a thousand."""
    made = [make(number, None) for number in range(1_000)]
    assert {seed.folder.name for seed, _, _ in made} == {seed.folder.name for seed in seeds(None)}
    signs = [raw.encode()[:200] for raw in RAW.values()]
    signs += [b"\x1f\x8b\x08"]
    signs += [b"\\ud800", b"\\u0000", b"\\u2028", b"\0", b"\xff", b"\xe2\x80\xa8", b"-9223372036854775808", b"NaN"]
    seen: Counter[bytes] = Counter()
    for _, _, data in made:
        seen.update(sign for sign in signs if sign in data)
    assert not [sign for sign in signs if not seen[sign]]
    cycles = sum(b'"parentUuid": "' in data for _, _, data in made)
    assert cycles


@pytest.mark.parametrize("fault", ["raises", "hangs", "several lines"])
def test_the_check_tells_a_bad_reader(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that fails in one of three ways is seen."""
    from labkit.errors import InputError

    def read(path: Path) -> object:
        if fault == "raises":
            raise KeyError("x")
        if fault == "several lines":
            raise InputError("one\ntwo")
        while True:
            pass

    hostile.warm()
    monkeypatch.setattr(codex, "matches", lambda path: True)
    monkeypatch.setattr(codex, "read", read)
    if fault == "hangs":  # half a second is enough to collect garbage after many tests: no limit for the others
        monkeypatch.setattr(hostile, "SECONDS", 0.5)
    number = next(n for n in range(1_000) if make(n, None)[0].folder.name == "codex")
    outcome = attempt(number)
    assert {"raises": "KeyError", "hangs": "too long", "several lines": "several lines"}[fault] in outcome.fault


def test_the_limits_are_those_that_were_promised() -> None:
    assert (SECONDS, MEMORY) == (5.0, 1_000_000_000)
