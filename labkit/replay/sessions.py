"""Many sessions: where harnesses keep them, a row for each, and two side by side."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from labkit.errors import InputError, LabError
from labkit.record.formats.packed import ENDINGS
from labkit.record.load import load
from labkit.record.once import new_only
from labkit.replay.audit import Audit, audit
from labkit.replay.audit_cost import cost_of

__all__ = ["Compared", "Listed", "found_sessions", "list_sessions", "newest_session", "session_folders", "sessions_in"]


def session_folders() -> tuple[Path, ...]:
    """Where to look: ``LABKIT_SESSIONS`` (several, separated as in PATH), else Claude Code's and Codex's folders."""
    given = os.environ.get("LABKIT_SESSIONS")
    if given:
        return tuple(Path(part).expanduser() for part in given.split(os.pathsep) if part)
    home = Path.home()
    return (home / ".claude" / "projects", home / ".codex" / "sessions")


def found_sessions() -> list[Path]:
    """Session files, the newest first; subagents' files belong to their sessions.

    Raises
    ------
    InputError
        If there are none.
    """
    found: list[tuple[float, Path]] = []
    for folder in session_folders():
        found += list(_sessions_in(folder))
    if not found:
        looked = " or ".join(str(folder) for folder in session_folders())
        raise InputError(f"no sessions in {looked}: give a session file, or set LABKIT_SESSIONS to their folder")
    return [path for _, path in sorted(found, reverse=True)]


def sessions_in(folder: str) -> list[Path]:
    """The session files of a folder, the newest first.

    Raises
    ------
    InputError
        If there are none.
    """
    found = sorted(_sessions_in(Path(folder).expanduser()), reverse=True)
    if not found:
        raise InputError(f"{folder} holds no sessions: give a folder with .jsonl files, or leave it out")
    return [path for _, path in found]


def _sessions_in(folder: Path) -> Iterator[tuple[float, Path]]:
    if folder.is_file():
        yield folder.stat().st_mtime, folder
        return
    found = (path for end in ENDINGS for path in folder.rglob(f"*.jsonl{end}")) if folder.is_dir() else ()
    for path in found:
        if "subagents" in path.parts or path.name.startswith("agent-"):
            continue
        # While a packed session is resumed, both files are there.
        if path.suffix in ENDINGS[1:] and path.with_suffix("").exists():
            continue
        try:
            status = path.stat()
        except OSError:  # gone meanwhile, or a broken link
            continue
        if path.is_file() and status.st_size:
            yield status.st_mtime, path


def newest_session() -> Path:
    """The session file that was written last.

    Raises
    ------
    InputError
        If there are none.
    """
    return found_sessions()[0]


@dataclass(frozen=True, slots=True)
class Listed:
    """A session in a list.

    Parameters
    ----------
    path : str
    last : float or None
        Start of its last request, in seconds since the epoch.
    requests, peak : int
    dollars : float or None
        Exact at list price, children included; ``None`` where unknown. Without the shared responses,
        so that dollars of a list add up.
    shared : int
        Responses that stand in an earlier session of the list and are counted there.
    score : float or None
        Of the as-run replay.
    problem : str
        Why it could not be read; empty if it could.
    """

    path: str
    last: float | None = None
    requests: int = 0
    peak: int = 0
    dollars: float | None = None
    score: float | None = None
    problem: str = ""
    shared: int = 0

    def to_json(self) -> dict[str, Any]:
        """One object for programs."""
        return asdict(self)


def list_sessions(paths: list[Path]) -> Iterator[Listed]:
    """A row a session; one that cannot be read says why and stops nothing.

    Parameters
    ----------
    paths : list of Path
        The oldest first: a resumed session repeats what an older file holds, and only what is new in
        it counts.
    """
    seen: set[Any] = set()
    for path in paths:
        try:
            trace = load(path)
            found = audit(trace)
        except (LabError, OSError) as error:
            yield Listed(str(path), problem=f"{path.name}: {error}")
            continue
        left, shared = new_only(trace, seen)
        last = max((r.start for r in trace.requests if r.start is not None), default=None)
        cost = cost_of(left, fit=found.fit, run=found.as_run) if shared else found.cost
        yield Listed(
            str(path),
            last if last is not None and last > 1e9 else None,
            found.requests,
            0 if found.peak is None else found.peak.total,
            None if trace.usage is None else cost.exact,
            found.as_run.score,
            shared=shared,
        )


@dataclass(frozen=True)
class Compared:
    """Two sessions side by side, a request's worth of each: sessions differ in length.

    Parameters
    ----------
    before, after : Audit
    """

    before: Audit
    after: Audit

    @property
    def names(self) -> tuple[str, str]:
        """Names of the two."""
        return (self.before.name, self.after.name)

    def figures(self) -> dict[str, tuple[float | None, float | None]]:
        """By label; a request's worth but for the first and the last two."""
        before, after = _figures(self.before), _figures(self.after)
        return {name: (before[name], after[name]) for name in before}

    def to_json(self) -> dict[str, Any]:
        """One object for programs."""
        figures = self.figures()
        return {
            "before": self.names[0],
            "after": self.names[1],
            "figures": {name: {"before": b, "after": a} for name, (b, a) in figures.items()},
            "note": "a request's worth, but for requests, peak and score; two sessions differ in their work too",
        }


def _figures(report: Audit) -> dict[str, float | None]:
    requests = report.requests
    usage, cost = report.trace.usage, report.cost

    def each(amount: float | None) -> float | None:
        return amount / requests if requests and amount is not None else None

    written = report.writes_by_cause
    known = usage is not None
    exact = known and cost.exact is not None
    return {
        "requests": float(requests),
        "input tokens": each(float(sum(row.total for row in report.rows))),
        "cache reads": each(usage.cache_read) if usage else None,
        "written: growth": each(written["growth"]) if known else None,
        "written: expired": each(written["expired"]) if known else None,
        "written: edit": each(written["edit"]) if known else None,
        "written: unexplained": each(written["unexplained"]) if known else None,
        "uncached": each(usage.uncached) if usage else None,
        "output (exact ones)": each(usage.output) if usage else None,
        "tool calls": each(report.tool_calls),
        "dollars, main thread": each(cost.main) if exact else None,
        "dollars, children": each((cost.exact or 0.0) - cost.main) if exact else None,
        "peak context": None if report.peak is None else float(report.peak.total),
        "as-run score": report.as_run.score,
    }
