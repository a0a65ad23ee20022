"""A seeded mutator for whole files, and a pool that reads what it made under limits of time and memory.

Unlike :mod:`mutants` this one needs no hypothesis: a number names a mutant for good, so that any of
them can be made again alone (``python tests/hostile.py NUMBER``) and a hundred thousand need no shrinker.
"""

from __future__ import annotations

import copy
import gzip
import io
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import traceback
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

try:
    import resource
except ImportError:  # Windows has no limits of this kind
    resource = None  # type: ignore[assignment]

ROOT = Path(__file__).resolve().parent.parent

SECONDS, MEMORY = 5.0, 1_000_000_000
"""What one mutant may take: processor time, and memory on top of what the program itself holds."""

CUT = 24_000
"""Bytes of a large file that are kept: damage shows in a part as in the whole, a thousand times as often."""

# Put in as strings, replaced after json.dumps by what json.dumps cannot say.
RAW = {
    '"@deep-10000@"': "[" * 10_000 + "]" * 10_000,
    '"@deep-object@"': '{"content":' * 10_000 + "1" + "}" * 10_000,
    '"@deep-900@"': '[{"content":' * 450 + '"x"' + "}]" * 450,
    '"@deep-300@"': '[{"text":' * 150 + '"x"' + "}]" * 150,
    '"@digits@"': "9" * 5_000,
    '"@inf@"': "1e999",
    '"@zero@"': "-0.0",
}

LONG = ("x" * 60_000, " " * 60_000, "\U0001f44d" * 20_000, "\n" * 60_000, "a b" * 20_000)

VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**63,
    -(2**63),
    10**30,
    -(10**30),
    10**308 * 10**100,
    1e308,
    -1e308,
    5e-324,
    1.5,
    float("nan"),
    float("inf"),
    float("-inf"),
    "",
    " ",
    "x",
    "0",
    "1e5",
    "NaN",
    "null",
    "\ud800",
    "\udfff\ud83d",
    "a\u2028b\u2029c\0d\x85e",
    "\u202eevil\u2066",
    "\x1b[2J\x1b]8;;http://x\x07",
    "../../etc/passwd",
    "C:\\CON",
    "9999-12-31T23:59:59+14:00",
    "0001-01-01T00:00:00-14:00",
    "2026-13-45T99:99:99Z",
    "2026-02-30",
    "<script>alert(1)</script>",
    "[red]rich[/nothing]",
    "%s%n{0}{}",
    "data:image/png;base64,AAAA",
    [],
    {},
    [[]],
    [{}],
    {"": {}},
    [None],
    [None, 1, "a", {}, []],
    {"type": None},
    {"type": [], "id": {}, "role": 7},
    {"type": "message", "id": 3, "content": [{}]},
    {"type": "tool_result", "tool_use_id": ["x"], "content": {"a": 1}},
    {"type": "text", "text": {"value": 1}},
    {"type": "image", "source": None},
    *(marker.strip('"') for marker in RAW),
    *(marker.strip('"') for marker in RAW),
)

GARBAGE = (b"", b"\0", b"\0" * 5_000, b"\xff", b"\xed\xa0\x80", b"\n", b'"', b"}{", b"[", b"\xe2\x80\xa8", b"\r", b"\\")


@dataclass(frozen=True)
class Seed:
    """A file to damage, and the folder that has to stand around it."""

    path: Path
    folder: Path

    @property
    def name(self) -> str:
        """What it is called, wherever it lies."""
        return f"{self.folder.name}/{self.path.relative_to(self.folder).as_posix()}"


@dataclass(frozen=True)
class Outcome:
    """What reading one mutant came to; ``fault`` is empty for a Trace, or a refusal in one sentence."""

    number: int
    seed: str
    refused: bool
    seconds: float
    memory: int
    fault: str = ""


@cache
def seeds(corpus: Path | None = None) -> tuple[Seed, ...]:
    """All files of ``tests/data``, the sample session, the scripted runs, and the real ones where there are any."""
    found = []
    for folder in sorted((ROOT / "tests" / "data").iterdir()):
        found += [Seed(path, folder) for path in sorted(folder.rglob("*")) if path.is_file()]
    # One message of a storage is refused wherever it stands; as parts of a whole they are damaged below.
    found = [s for s in found if not {"part", "message", "events"} & set(s.path.relative_to(s.folder).parts[:-1])]
    for folder in (ROOT / "data" / "sessions" / "sample", ROOT / "data" / "traces"):
        found += [Seed(path, folder) for path in sorted(folder.rglob("*.jsonl"))]
    if corpus is not None:
        real = [p for p in sorted(corpus.rglob("*")) if p.is_file() and p.suffix != ".md"]
        found += [Seed(p, p.parent) for p in real if p.name != "INDEX.json"]
    return tuple(found)


def places(value: Any, most: int = 4_000) -> list[tuple[Any, Any]]:
    """Every (holder, key) of a JSON value, breadth first."""
    found: list[tuple[Any, Any]] = []
    queue = [value]
    for holder in queue:
        keys: Iterable[Any] = holder if isinstance(holder, dict) else range(len(holder))
        for key in keys:
            found.append((holder, key))
            if isinstance(holder[key], (dict, list)):
                queue.append(holder[key])
        if len(found) > most:
            break
    return found


def is_id(key: Any) -> bool:
    """Whether a field ties entries to each other."""
    return isinstance(key, str) and (key.lower().endswith(("id", "uuid", "parent", "ids")) or "parent" in key.lower())


def damage(value: Any, random: Random) -> Any:
    """The value with one place damaged; the value itself is changed."""
    found = places(value)
    if not found:
        return _value(random)
    what = random.choice(
        ["set", "set", "set", "set", "remove", "rename", "twice", "wrap", "unwrap", "shuffle", "move", "tie", "tie"]
    )
    if what == "tie":
        found = [place for place in found if is_id(place[1])] or found
    holder, key = random.choice(found)
    if what == "set":
        holder[key] = _value(random) if random.random() > 0.02 else random.choice(LONG)
    elif what == "remove":
        del holder[key]
    elif what == "rename" and isinstance(holder, dict):
        other = random.choice([k for h, k in found if isinstance(h, dict)])
        holder[random.choice([other, "type", "x", ""])] = holder.pop(key)
    elif what == "twice" and isinstance(holder, list):
        holder += [_copy(holder[key]) for _ in range(random.choice([1, 1, 50]))]
    elif what == "wrap":
        holder[key] = random.choice([[holder[key]], {"content": holder[key]}, {str(key): holder[key]}])
    elif what == "unwrap":
        inner = holder[key]
        if isinstance(inner, dict):
            holder[key] = list(inner.values())
        elif isinstance(inner, list):
            holder[key] = inner[0] if inner else {}
        else:
            holder[key] = str(inner)
    elif what == "shuffle" and isinstance(holder, list):
        random.shuffle(holder)
    else:  # a value from somewhere else: an id that ties a cycle, a message where a number belongs
        source, place = random.choice(found)
        holder[key] = _copy(source[place])
    return value


def _value(random: Random) -> Any:
    # A copy: later damage to this mutant must not reach the next.
    return copy.deepcopy(random.choice(VALUES))


def _copy(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _again(value: Any) -> Any:
    return value if isinstance(value, _Raw) else _copy(value)


def say(value: Any) -> str:
    """The value as JSON, with what json.dumps cannot say put in."""
    text = json.dumps(value)
    if "@" in text:
        for marker, raw in RAW.items():
            text = text.replace(marker, raw, 1).replace(marker, "0")
    return text


def parse(text: str) -> tuple[list[Any], bool]:
    """The values of a file, and whether it is one document; a line that is no JSON stays a string."""
    try:
        return [json.loads(text)], True
    except (ValueError, RecursionError):
        pass
    values: list[Any] = []
    for line in text.split("\n"):
        try:
            values.append(json.loads(line) if line else "")
        except (ValueError, RecursionError):
            values.append(_Raw(line))
    return values, False


class _Raw(str):
    """A line that stands as it is."""


def mutant(data: bytes, random: Random, other: bytes = b"") -> bytes:
    """A damaged copy of a file."""
    if data[:2] == b"PK" and random.random() < 0.8:
        return _in_zip(data, random)
    data = _cut(data, random) if len(data) > CUT else data
    if random.random() < 0.85:
        data = _structure(data, random)
    for _ in range(random.choice([0, 0, 0, 1, 3])):
        at, gone = random.randrange(len(data) + 1), random.choice([0, 0, 1, 40])
        data = data[:at] + random.choice(GARBAGE) + data[at + gone :]
    whole = random.random()
    if whole < 0.06:
        data = data[: random.randrange(len(data) + 1)]
    elif whole < 0.08:
        data = data + other[:CUT]
    elif whole < 0.10:
        data = data.replace(b"\n", random.choice([b"\r\n", b"\r", b"", b"\n\n", b"\xe2\x80\xa8"]))
    elif whole < 0.12:
        data = random.choice([b"\xef\xbb\xbf", b"\xff\xfe", b"[", b"# ", b"data: "]) + data
    elif whole < 0.13:
        data = data.decode("utf-8", "replace").encode(random.choice(["utf-16", "utf-32", "utf-7"]), "replace")
    elif whole < 0.15:
        data = gzip.compress(data, mtime=0)
        at = random.randrange(len(data))
        data = random.choice([data, data[:at], data[:at] + random.choice(GARBAGE) + data[at + 1 :]])
    return data


def _structure(data: bytes, random: Random) -> bytes:
    values, whole = parse(data.decode("utf-8", "replace"))
    for _ in range(random.choice([1, 1, 1, 2, 4, 12])):
        place = random.randrange(len(values))
        what = random.choice(["change"] * 6 + ["drop", "twice", "swap", "shuffle", "tie"])
        if whole or what == "change":
            if not isinstance(values[place], _Raw):
                values[place] = damage(values[place], random) if isinstance(values[place], (dict, list)) else None
        elif what == "drop" and len(values) > 1:
            del values[place]
        elif what == "twice":
            values.insert(random.randrange(len(values) + 1), _again(values[place]))
        elif what == "swap":
            other = random.randrange(len(values))
            values[other], values[place] = values[place], values[other]
        elif what == "shuffle" and random.random() < 0.3:
            random.shuffle(values)
        elif what == "tie":
            _tie(values, random)
    return "\n".join(v if isinstance(v, _Raw) else say(v) for v in values).encode("utf-8", "replace")


def _tie(values: list[Any], random: Random) -> None:
    """Let entries name each other, or themselves, as parents."""
    ties = [(v, k) for v in values if isinstance(v, dict) for k in v if is_id(k)]
    if len(ties) > 1:
        for _ in range(random.choice([1, 2, 5])):
            (a, key), (b, name) = random.choice(ties), random.choice(ties)
            if key in a and name in b:
                a[key] = _copy(b[name])


def _cut(data: bytes, random: Random) -> bytes:
    """A part of a large file that is still such a file: its first lines and some of the rest, or short lists."""
    text = data.decode("utf-8", "replace")
    values, whole = parse(text)
    if whole:
        return json.dumps(_pruned(values[0], random.choice([2, 4, 8]))).encode()[: 20 * CUT]
    lines = text.split("\n")
    start = random.randrange(len(lines))
    kept, size = list(lines[: random.choice([1, 3, 8])]), 0
    for line in lines[start:]:
        kept.append(line)
        size += len(line)
        if size > CUT:
            break
    return "\n".join(line if len(line) < CUT else _short(line) for line in kept).encode("utf-8", "replace")


def _short(line: str) -> str:
    try:
        return json.dumps(_pruned(json.loads(line), 4))
    except (ValueError, RecursionError):
        return line[:CUT]


def _pruned(value: Any, most: int) -> Any:
    if isinstance(value, dict):
        return {k: _pruned(v, most) for k, v in value.items()}
    if isinstance(value, list):
        return [_pruned(v, most) for v in value[:most]]
    return value[:400] if isinstance(value, str) else value


def _in_zip(data: bytes, random: Random) -> bytes:
    """An archive with one damaged member."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        names = old.namelist()
        chosen = random.choice(names)
        for name in names:
            inner = old.read(name)
            if name == chosen and random.random() < 0.1:
                continue
            new.writestr(name, mutant(inner, random) if name == chosen else inner)
    return out.getvalue()


class _TooLong(BaseException):
    """Raised by the clock; no handler for errors catches it."""


def _alarm(*_: object) -> None:
    raise _TooLong


def warm() -> None:
    """Import what reading needs: the time and memory of the program itself are not the mutant's."""
    from labkit.record.tokens import get_counter

    attempt(-1)
    get_counter().count("warm")


def _limit(folder: str) -> None:
    """Hold this process to the memory it may have; in every worker first."""
    tempfile.tempdir = folder
    warm()
    if resource is not None and sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        top = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (top, top))


def _peak() -> int:
    if resource is None:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


_kept: list[tempfile.TemporaryDirectory[str]] = []


@cache
def _bench() -> Path:
    made = tempfile.TemporaryDirectory(prefix="hostile-")
    _kept.append(made)  # it goes with the process
    return Path(made.name)


@cache
def _bytes(path: Path) -> bytes:
    return path.read_bytes()


def make(number: int, corpus: Path | None) -> tuple[Seed, Seed, bytes]:
    """Mutant ``number``: the seed that is read, the file of its folder that is damaged, and the damage."""
    random = Random(number)
    every = seeds(corpus)
    seed = random.choice(every)
    damaged = seed
    if random.random() < 0.25 and seed.folder.parent.name == "data":
        around = [p for p in sorted(seed.folder.rglob("*")) if p.is_file()]
        damaged = replace(seed, path=random.choice(around))
    return seed, damaged, mutant(_bytes(damaged.path), random, _bytes(random.choice(every).path))


def _whole() -> tuple[Seed, Seed, bytes]:
    """The sample session as it is."""
    seed = next(s for s in seeds() if s.folder.name == "sample")
    return seed, seed, _bytes(seed.path)


def stand(seed: Seed, damaged: Seed, data: bytes) -> Path:
    """Put the damaged file where the others of its folder stand too; return what is to be read."""
    small = seed.folder.parent.name == "data"
    bench = _bench() / seed.folder.name
    if small:
        for path in seed.folder.rglob("*"):
            target = bench / path.relative_to(seed.folder)
            if path.is_file() and (not target.exists() or target.stat().st_mtime_ns != path.stat().st_mtime_ns):
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(_bytes(path))
                os.utime(target, ns=(path.stat().st_mtime_ns, path.stat().st_mtime_ns))
    target = bench / damaged.path.relative_to(seed.folder)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    entry = bench / seed.path.relative_to(seed.folder)
    if "conversation" in entry.parts:  # the session is the folder
        return entry.parent
    return entry if entry.exists() else target


def attempt(number: int, corpus: Path | None = None) -> Outcome:
    """Make one mutant and put it through everything a person could do with the file."""
    from labkit.errors import LabError

    seed, damaged, data = make(number, corpus) if number >= 0 else _whole()
    path = stand(seed, damaged, data)
    fault, refused, began = "", False, time.process_time()
    clocked = number >= 0 and hasattr(signal, "setitimer")
    if clocked:
        signal.signal(signal.SIGPROF, _alarm)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        use(path, number)
    except LabError as error:
        refused = True
        if "\n" in str(error):
            fault = f"a refusal of several lines: {error}"
    except _TooLong:
        fault = "too long:\n" + traceback.format_exc(limit=-6)
    except BaseException:
        fault = traceback.format_exc(limit=-6)
    finally:
        if clocked:
            signal.setitimer(signal.ITIMER_PROF, 0)
    seconds = time.process_time() - began
    if clocked and not fault and seconds > SECONDS:
        fault = f"{seconds:.1f} s"
    return Outcome(number, damaged.name, refused, seconds, _peak(), fault)


def use(path: Path, number: int) -> None:
    """Read a file and look at it: every number its Trace and audit, every fifth also the rest, some a redaction."""
    from labkit.record.load import load
    from labkit.replay.advice import advise
    from mutants import sound

    trace = load(path)
    report = sound(trace)
    if number > 0 and number % 5:
        return
    json.dumps(report.to_json(), allow_nan=False)
    from labkit.show.page import page
    from labkit.show.report import audit_report
    from labkit.show.session_report import first_screen

    advice = advise(report)
    assert "<script" not in page(report, advice)
    _print(first_screen(report, advice, str(path)))
    if number > 0 and number % 10:
        return
    from rich.console import Console

    from labkit.errors import LabError
    from labkit.ladder.presets import load_policy
    from labkit.replay.whatif import whatif

    Console(file=io.StringIO(), width=100).print(audit_report(report))
    for name in ("default", "article"):
        with suppress(LabError):
            whatif(trace, load_policy(name))
    if number > 0 and number % 50:
        return
    from labkit.record.redact import redact

    with tempfile.TemporaryDirectory() as folder, suppress(LabError):
        redact(path, Path(folder) / f"redacted{path.suffix}", key=b"k")


def _print(lines: Sequence[str]) -> None:
    assert not any("\x1b" in line or "\n" in line for line in lines)


def _some(numbers: range, corpus: Path | None) -> list[Outcome]:
    return [attempt(number, corpus) for number in numbers]


def run(numbers: range, corpus: Path | None, tell: Callable[[int], None] = lambda _: None) -> Iterator[Outcome]:
    """Read many mutants on two processors."""
    step = 50
    parts = [numbers[i : i + step] for i in range(0, len(numbers), step)]
    context = multiprocessing.get_context("spawn")
    # A worker ends without tidying up, so its folder lies in ours.
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(2, mp_context=context, initializer=_limit, initargs=(folder,)) as pool,
    ):
        for done, outcomes in enumerate(pool.map(_some, parts, [corpus] * len(parts)), 1):
            tell(done * step)
            yield from outcomes


if __name__ == "__main__":
    given = os.environ.get("LABKIT_CORPUS")
    where = Path(given) if given else None
    if len(sys.argv) == 2:
        print(attempt(int(sys.argv[1]), where))
    else:
        worst: list[Outcome] = []
        kinds: dict[str, list[Outcome]] = {}
        count = refusals = 0
        for o in run(range(int(sys.argv[1]), int(sys.argv[2])), where):
            count, refusals = count + 1, refusals + o.refused
            worst = sorted([*worst, o], key=lambda o: -o.seconds)[:5]
            if o.fault:
                kinds.setdefault("\n".join(o.fault.strip().split("\n")[-3:]), []).append(o)
        for found in sorted(kinds.values(), key=len, reverse=True):
            print(f"--- {len(found)} like {[o.number for o in found[:4]]} {found[0].seed}\n{found[0].fault}")
        peak = max((o.memory for o in worst), default=0) // 1_000_000
        print(f"{count} read, {refusals} refused, {sum(map(len, kinds.values()))} faults, peak {peak} MB")
        print("slowest:", [(o.number, o.seed, round(o.seconds, 2)) for o in worst])
