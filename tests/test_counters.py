"""Counting by the providers' real SDKs against a local server, which counts a token a word."""

from __future__ import annotations

import sqlite3
import threading
import warnings
from contextlib import ExitStack

import pytest

from labkit.errors import InputError
from labkit.record.counters import anthropic_counter, openai_counter
from labkit.record.sizes import measure
from labkit.record.tokens import get_counter
from labkit.record.trace import Block, Prefix, Request, Trace
from local_server import serving

anthropic = pytest.importorskip("anthropic")
openai = pytest.importorskip("openai")

TEXT = "one two three four"
OFFLINE = get_counter().count


@pytest.fixture
def server():
    with serving() as running:
        yield running


@pytest.fixture(params=["anthropic", "openai"])
def make(request, server, tmp_path):
    """Makes a counter of one provider, with as few retries as given."""

    def made(retries: int = 0, model: str = "model-a", cache=tmp_path / "counts.sqlite"):
        if request.param == "anthropic":
            client = open_until_the_end(anthropic.Anthropic(api_key="k", base_url=server.url, max_retries=retries))
            return anthropic_counter(client, model, cache=cache)
        client = open_until_the_end(openai.OpenAI(api_key="k", base_url=f"{server.url}/v1", max_retries=retries))
        return openai_counter(client, model, cache=cache)

    with ExitStack() as clients:
        open_until_the_end = clients.enter_context
        yield made


def test_what_a_message_costs_beside_its_text_is_subtracted(make, server):
    counter = make()
    assert counter.count(TEXT) == 4
    assert counter.count("x") == 1
    assert counter.count("") == 0
    assert len(server.requests) == 2  # the text and the probe
    assert all(request["model"] == "model-a" for request in server.requests)


def test_blanks_and_lone_surrogates_are_counted(make, server):
    counter = make()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert counter.count(" \n ") == 1
        assert counter.count("a \ud800 b") == 3


def test_a_long_text_is_sent_in_one_piece(make, server):
    assert make().count("word " * 30_000) == 30_000
    assert len(server.requests) == 2


def test_a_text_is_sent_once_also_by_the_next_process(make, server):
    assert make().count(TEXT) == 4
    sent = len(server.requests)
    again = make()
    assert again.count(TEXT) == 4
    assert len(server.requests) == sent
    # Another model has another tokenizer.
    make(model="model-b").count(TEXT)
    assert len(server.requests) == 2 * sent


def test_the_cache_holds_digests_and_no_text(make, server, tmp_path):
    make().count("a swordfish swims")
    assert b"swordfish" not in (tmp_path / "counts.sqlite").read_bytes()
    with sqlite3.connect(tmp_path / "counts.sqlite") as base:
        rows = base.execute("SELECT key, tokens FROM counts").fetchall()
    assert len(rows) == 2
    assert all("model-a" in key for key, _ in rows)


@pytest.mark.parametrize("damage", [b"", b"not a database", b"SQLite format 3\0" + b"\xff" * 200])
def test_a_damaged_cache_costs_time_and_no_count(make, server, tmp_path, damage):
    (tmp_path / "counts.sqlite").write_bytes(damage)
    counter = make()
    assert counter.count(TEXT) == 4
    assert counter.count(TEXT) == 4
    assert len(server.requests) == 2


def test_a_cache_that_cannot_be_written_costs_no_count(make, server, tmp_path):
    (tmp_path / "file").write_text("")
    assert make(cache=tmp_path / "file" / "counts.sqlite").count(TEXT) == 4


@pytest.mark.parametrize("status", [401, 429, 500, 529])
def test_after_an_error_the_rest_is_counted_offline_with_one_warning(make, server, status):
    counter = make()
    assert counter.count(TEXT) == 4
    sent = len(server.requests)
    server.fail = [status] * 10
    long = "internationalization of everything"
    with pytest.warns(UserWarning, match=r"failed .*counted offline by o200k_base") as warned:
        counts = [counter.count(long), counter.count(long + " else")]
    assert counts == [OFFLINE(long), OFFLINE(long + " else")]
    assert len(warned) == 1
    assert len(server.requests) == sent + 1
    # What was asked before is still known.
    assert counter.count(TEXT) == 4


def test_a_refused_text_alone_is_counted_offline(make, server):
    counter = make()
    assert counter.count(TEXT) == 4
    server.fail = [400]
    long = "internationalization of everything"
    with pytest.warns(UserWarning, match="failed"):
        assert counter.count(long) == OFFLINE(long)
    assert counter.count("five six") == 2


def test_the_sdk_tries_again_when_told_to_wait(make, server):
    server.fail = [429]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert make(retries=1).count(TEXT) == 4


def test_without_a_network_it_counts_offline(tmp_path):
    client = anthropic.Anthropic(api_key="k", base_url="http://127.0.0.1:9", max_retries=0)
    with client, pytest.warns(UserWarning, match="APIConnectionError"):
        assert anthropic_counter(client, "m", cache=tmp_path / "c").count("hello world") == 2


def test_measure_takes_it(make, server):
    blocks = (Block("text", "user", TEXT, request=1), Block("result", "tool", "five six", request=2, tool="run"))
    trace = Trace("tiny", blocks, (Request(1), Request(2)), (Prefix("Be very brief.", "[tools]"),))
    counter = make()
    sizes = measure(trace, counter)
    assert (sizes.blocks, sizes.system, sizes.tools) == ((8, 6), (7,), (1,))
    assert sizes.counter.name.endswith(", model-a")


def test_threads_may_share_it(make, server):
    counter = make()
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(counter.count(TEXT))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [4] * 8


def test_clients_that_cannot_count_are_refused():
    with pytest.raises(InputError, match="not asynchronous"):
        anthropic_counter(anthropic.AsyncAnthropic(api_key="k"), "m")
    with pytest.raises(InputError, match=r"has no responses\.input_tokens\.count"):
        openai_counter(object(), "m")
