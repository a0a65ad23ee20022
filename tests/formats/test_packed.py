"""Files packed by gzip or zstd: every format is read from them as it is read without."""

from __future__ import annotations

import gzip
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from labkit.errors import InputError, LabError
from labkit.record.formats import packed
from labkit.record.load import load
from labkit.record.trace import Trace
from labkit.replay.sessions import list_sessions, sessions_in
from session_lines import assistant, text, usage, user, write

DATA = Path(__file__).resolve().parents[1] / "data"
FORMATS = sorted(p.name for p in DATA.iterdir() if p.is_dir() and p.name != "conformance")


def zstd(data: bytes) -> bytes:
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    return bytes(pytest.importorskip(name).compress(data))


PACK: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".zst": zstd}


def unnamed(trace: Trace) -> dict[str, Any]:
    """What a trace holds, without the names of its files, which have the ending."""
    children = [unnamed(child) for child in trace.children]
    return asdict(replace(trace, source=trace.source.split(":")[0], name="", children=())) | {"children": children}


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_read_packed(name: str, ending: str, tmp_path: Path) -> None:
    read = 0
    for number, file in enumerate(sorted(p for p in (DATA / name).rglob("*") if p.is_file())):
        alone = tmp_path / str(number) / file.name
        alone.parent.mkdir(parents=True)
        shutil.copy(file, alone)
        try:
            plain = load(alone)
        except LabError:  # a part of a session that is a folder
            continue
        path = alone.with_name(alone.name + ending)
        path.write_bytes(PACK[ending](alone.read_bytes()))
        alone.unlink()
        assert unnamed(load(path)) == unnamed(plain), file.name
        read += 1
    assert read


@pytest.mark.parametrize("ending", PACK)
def test_a_packed_rollout_finds_its_packed_agents(ending: str, tmp_path: Path) -> None:
    for file in (DATA / "codex").glob("*.jsonl"):
        (tmp_path / (file.name + ending)).write_bytes(PACK[ending](file.read_bytes()))
    trace = load(tmp_path)
    assert (unnamed(trace), trace.name) == (unnamed(load(DATA / "codex")), load(DATA / "codex").name)
    assert [c.kind for c in trace.children if c.kind == "subagent"]
    # A list of sessions sees it too, once, and its agents' files with it.
    found = sessions_in(str(tmp_path))
    assert len(found) == 2
    assert all(row.problem == "" for row in list_sessions(found))


def test_while_codex_unpacks_one_the_plain_file_counts(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", user("go"), assistant("m1", text("yes"), usage(1, 2, 3, 4)))
    (tmp_path / "a.jsonl.zst").write_bytes(zstd(path.read_bytes()))
    assert sessions_in(str(tmp_path)) == [path]


@pytest.mark.parametrize("ending", PACK)
def test_a_torn_packed_file_gives_what_it_holds(ending: str, tmp_path: Path) -> None:
    rows = [user("go")]
    for i in range(400):
        rows += [assistant(f"m{i}", text(f"{i * 7919} {i**5}" * 20), usage(1, 2, 3, 4)), user(f"{i**3}")]
    data = PACK[ending](write(tmp_path / "a.jsonl", *rows).read_bytes())
    path = tmp_path / f"b.jsonl{ending}"
    path.write_bytes(data[: len(data) // 2])
    trace = load(path)
    assert 0 < len(trace.requests) < 400
    assert any("the packed file is damaged" in w for w in trace.warnings)
    assert trace.name == "b"
    path.write_bytes(data)
    seen: list[tuple[int, int]] = []
    assert len(load(path, lambda done, size: seen.append((done, size))).requests) == 400
    assert all(done <= size == len(data) for done, size in seen)


@pytest.mark.parametrize("ending", PACK)
def test_what_grows_beyond_reason_is_refused(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "_FREE", 100_000)
    path = tmp_path / f"a.jsonl{ending}"
    path.write_bytes(PACK[ending](b'{"type": "user"}\n' + b" " * 50_000_000))
    with pytest.raises(InputError, match="times its size"):
        load(path)


def test_without_a_module_for_zstd_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd" + bytes(40))
    monkeypatch.setattr(packed, "import_module", lambda name: import_module("no_such_module"))
    with pytest.raises(InputError, match=r"pip install backports\.zstd") as caught:
        load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("data", [b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x1f\x8b\x08" + bytes(30)])
def test_damage_from_the_first_byte(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        load(path)
    assert "\n" not in str(caught.value)
