"""Counting never raises, never asks the network, and takes bounded time."""

from __future__ import annotations

import shutil
import socket
import time
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import article
from labkit.errors import InputError
from labkit.files import data_path
from labkit.record import tokens
from labkit.record.tokens import CHARS, CHUNK, O200K_FILE, count, get_counter


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every attempt to connect or to look up a name is noted and fails."""
    tried: list[str] = []

    def refuse(*args: object, **options: object) -> None:
        tried.append(str(args))
        raise OSError("no network in this test")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    return tried


@pytest.fixture
def fresh():
    """The counter as a new process would load it."""
    get_counter.cache_clear()
    yield
    get_counter.cache_clear()


def forget_tiktoken(monkeypatch: pytest.MonkeyPatch) -> None:
    import tiktoken.registry

    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})


@pytest.mark.parametrize("damage", ["missing", "torn", "empty"])
@pytest.mark.usefixtures("fresh")
def test_a_vocabulary_that_cannot_be_loaded(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_network: list[str]
) -> None:
    forget_tiktoken(monkeypatch)
    if damage != "missing":
        whole = data_path("tokenizers", O200K_FILE).read_bytes()
        (tmp_path / O200K_FILE).write_bytes(whole[: len(whole) // 2] if damage == "torn" else b"")
    monkeypatch.setattr(tokens, "data_path", lambda *parts: tmp_path)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "elsewhere"))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert [count("x" * 41) for _ in range(3)] == [11] * 3
        assert get_counter().name == "chars/4"
    assert ["could not be loaded" in str(w.message) and "labkit doctor" in str(w.message) for w in seen] == [True]
    assert no_network == []


@pytest.mark.usefixtures("fresh")
def test_the_article_does_not_fall_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_network: list[str]) -> None:
    """It waits for a missing package; a missing vocabulary raises something else, after asking the network."""
    import tiktoken

    forget_tiktoken(monkeypatch)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    with pytest.raises(Exception, match=r"no network|Max retries|resolve") as raised:
        article.counter(tiktoken.get_encoding)
    assert not isinstance(raised.value, ImportError)
    assert no_network != []
    # Ours finds the vocabulary that ships with the lab.
    asked = len(no_network)
    assert get_counter().name == "o200k_base"
    assert count("hello world") == 2
    assert len(no_network) == asked


@pytest.mark.usefixtures("fresh")
def test_a_vocabulary_of_the_user_s_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    shutil.copy(data_path("tokenizers", O200K_FILE), tmp_path)
    monkeypatch.setattr(tokens, "data_path", lambda *parts: tmp_path / "none")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert tokens.vocabulary_folder() == tmp_path
    assert get_counter("o200k_base").count("hello world") == 2
    assert os.environ["TIKTOKEN_CACHE_DIR"] == str(tmp_path)


def test_known_counts() -> None:
    assert get_counter().name == "o200k_base"
    assert count("") == 0
    assert count("hello world") == 2
    assert count("<|endoftext|>") > 1, "the text of a special token is text"
    assert count("\ud800") >= 1
    assert [CHARS.count("x" * n) for n in (0, 1, 4, 5)] == [0, 1, 1, 2]


@pytest.mark.parametrize(
    "text",
    [
        " " * 1_000_000,
        "x" * 1_000_000,
        "\n" * 1_000_000,
        "<|endoftext|>" * 50_000,
        "\ud800" * 100_000,
        "a\udfff" * 100_000,
        "é\u0301" * 200_000,
        "0" * 1_000_000,
    ],
    ids=["spaces", "letters", "lines", "special", "surrogates", "mixed", "marks", "digits"],
)
def test_hard_texts_in_bounded_time(text: str) -> None:
    began = time.monotonic()
    assert 0 < count(text) <= 4 * len(text)
    assert time.monotonic() - began < 30, "seconds, where a quadratic tokenizer takes hours"


@given(st.text(st.characters(codec=None)))
def test_any_text(text: str) -> None:
    assert 0 <= count(text) <= 4 * len(text)
    assert (count(text) == 0) == (text == "")


@given(st.integers(1, 4), st.sampled_from([" word", "\n", "x", "é"]))
def test_pieces_cost_almost_nothing(pieces: int, unit: str) -> None:
    """A long text counts as much as its pieces, and a cut costs at most a few tokens."""
    import tiktoken

    text = unit * (pieces * CHUNK // len(unit) + 7)
    whole = len(tiktoken.get_encoding("o200k_base").encode_ordinary(text)) if unit != "x" else count(text)
    assert abs(count(text) - whole) <= 3 * (pieces + 1)


def test_an_unknown_counter() -> None:
    with pytest.raises(InputError, match="unknown counter 'cl100k': use 'auto', 'o200k_base' or 'chars/4'"):
        get_counter("cl100k")


def test_a_tokenizer_that_fails_on_a_text_is_replaced_for_that_text() -> None:
    def overflows(text: str) -> int:
        if "  " in text:
            raise RuntimeError("stack overflow")
        return 1

    counter = tokens.Counter("broken", "", overflows)
    assert counter.count("words") == 1
    assert counter.count(" " * 9) == 3
