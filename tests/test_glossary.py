"""Words used as identifiers are the glossary's, and the glossary says where each lives in code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import labkit as lk
from labkit import cli
from public_names import ROOT, defined, face, words

TEXT = (ROOT / "notebooks" / "GLOSSARY.md").read_text(encoding="utf-8")
# Words of general English and of programming that names may use beside the glossary's.
PLAIN = set((Path(__file__).parent / "data" / "plain_words.txt").read_text(encoding="utf-8").split())


def entries() -> list[tuple[str, str, list[str], list[str]]]:
    """Word, meaning, places in code, words never used."""
    found = []
    for line in TEXT.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and cells[0] not in ("word", "---"):
            never = [word for word in cells[3].split(", ") if word]
            found.append((cells[0], cells[1], re.findall(r"`([^`]+)`", cells[2]), never))
    return found


ENTRIES = entries()
NEVER = {word: entry[0] for entry in ENTRIES for word in entry[3]}
# A word and its plural are one word, as are clear and cleared.
KNOWN = {w for entry in ENTRIES for place in (entry[0].replace("-", " "), *entry[2]) for w in words(place)}


def stem(word: str) -> set[str]:
    """The forms under which a word may stand in a list."""
    return {word, word.removesuffix("s"), word.removesuffix("d"), word.removesuffix("ed"), word.removesuffix("es")}


def strange(name: str) -> list[str]:
    return [word for word in words(name) if not stem(word) & (KNOWN | PLAIN)]


def lives(place: str) -> bool:
    """Whether a place that the glossary names is there."""
    if place.startswith("labkit "):
        return place.removeprefix("labkit ") in get_command(cli.app).commands  # type: ignore[attr-defined]
    thing: Any = lk
    *path, last = place.split(".")
    for part in path:
        thing = getattr(thing, part)
    if not path:
        return last in lk.__all__
    return hasattr(thing, last) or last in getattr(thing, "__dataclass_fields__", ())


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry[0])
def test_an_entry_is_one_or_two_sentences_and_lives_somewhere(entry: tuple[str, str, list[str], list[str]]) -> None:
    _, meaning, places, _ = entry
    assert 1 <= len(re.findall(r"[.](?: |$)", meaning)) <= 2, meaning
    assert meaning.endswith(".")
    assert places
    assert [place for place in places if not lives(place)] == []


def test_each_word_has_one_entry() -> None:
    terms = [term for entry in ENTRIES for term in entry[0].split(", ")]
    assert len(terms) == len(set(terms))
    assert not NEVER.keys() & {word for term in terms for word in words(term)}


def test_public_names_are_made_of_known_words() -> None:
    assert {name: odd for name in face() if (odd := strange(name))} == {}


def test_no_name_of_the_package_uses_another_word_for_the_same_thing() -> None:
    found = {
        f"{where}: {name}": f"the word is {NEVER[w]}" for where, name in defined() for w in words(name) if w in NEVER
    }
    assert found == {}


def test_the_rules_can_fail() -> None:
    assert strange("prune_transcript(strategy)") == ["prune", "transcript", "strategy"]
    assert strange("Policy.keep_recent") == []
    assert not lives("Policy.keeps")
    assert not lives("labkit tidy")
    assert NEVER["prune"] == "clear"


def test_no_plain_word_lies_unused_or_hides_a_forbidden_one() -> None:
    used = {form for name in face() for word in words(name) for form in stem(word)}
    assert sorted(PLAIN - used) == []
    assert sorted(PLAIN & (KNOWN | NEVER.keys())) == []
