"""Whether a migration is right: every query is run on samples and compared with what it meant before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from labkit.bench1.script import Script
from labkit.bench1.service import Service, Site
from labkit.bench1.sql import meaning
from labkit.bench1.tree import NotUnderstood, inside, parse, raw_named, statements, text_of

__all__ = ["Verdict", "meaning", "verify"]


@dataclass(frozen=True)
class Verdict:
    """What the checker found.

    Parameters
    ----------
    missed : tuple of str
        Paths of sites that still send their text as it is.
    wrong : tuple of (str, str)
        Path and reason of what was changed and is not right.
    """

    missed: tuple[str, ...] = ()
    wrong: tuple[tuple[str, str], ...] = ()

    @property
    def passed(self) -> bool:
        """Nothing missed, nothing wrong."""
        return not self.missed and not self.wrong


def verify(service: Service, files: Mapping[str, str]) -> Verdict:
    """Check a migrated service against the one it was made from.

    Parameters
    ----------
    service : Service
    files : mapping of str to str
        Text by path, after the migration.

    Returns
    -------
    Verdict
        Right is: every file parses and is still there, the database module is as it was, nobody names ``queryRaw``
        elsewhere but in comments, nothing beside the queries is gone or changed, and each site sends one fixed text
        whose values, put in, mean what the old query meant, and gives back or expects what it did before.

    Examples
    --------
    >>> from labkit.bench1.service import service
    >>> made = service(1)
    >>> len(verify(made, made.files).missed)
    7
    """
    missed, wrong = [], []
    sites = {site.path: site for site in service.sites}
    for path, before in service.files.items():
        after = files.get(path)
        if after is None:
            wrong.append((path, "the file is gone"))
        elif path in sites:
            try:
                needed = tuple(sorted(files.items())) if _imports_more(before, after) else ()
                state, why = _site(sites[path], before, after, needed)
            except RecursionError:
                state, why = "wrong", "it is nested too deep to be followed"
            if state == "missed":
                missed.append(path)
            elif state == "wrong":
                wrong.append((path, why))
        elif after != before:
            why = "the database module was changed" if path == "src/db.ts" else _other(before, after)
            wrong += [(path, why)] if why else []
    for path in files:
        why = "" if path in service.files else _other("", files[path])
        wrong += [(path, why)] if why else []
    return Verdict(tuple(missed), tuple(wrong))


def _other(before: str, after: str) -> str:
    """What is wrong with a file that is no site, or that is new; empty if nothing is."""
    try:
        if parse(after).root_node.has_error:
            return "it does not parse"
        if raw_named(after):
            return "queryRaw is used where it was not"
        if any(map(_puts_in_place, inside(parse(after).root_node))):
            return "a method of the name query is replaced"
        return _lost(before, after, None)
    except RecursionError:
        return "it is nested too deep to be followed"


def _puts_in_place(node: Any) -> bool:
    """Whether ``something.query`` is assigned to."""
    left = node.child_by_field_name("left") if node.type == "assignment_expression" else None
    return left is not None and left.type == "member_expression" and text_of(left).endswith(".query")


_SILENT = ("@ts-ignore", "@ts-nocheck", "@ts-expect-error")


def _lost(before: str, after: str, site: Site | None) -> str:
    """What stood at the top of a file, has nothing to do with its query, and is gone or changed."""
    for word in _SILENT:
        if word in after and word not in before:
            return f"{word} silences the type checker"
    kept = [s for s in statements(before) if site is None or not _its_own(s, site)]
    gone = Counter(kept) - Counter(statements(after))
    return f"something else is gone or changed: {' '.join(next(iter(gone)))[:60]!r}" if gone else ""


def _its_own(statement: tuple[str, ...], site: Site) -> bool:
    """Whether a statement is an import, makes the query, or is what the site's entry does."""
    return statement[0] == "import" or site.entry in statement or any("queryRaw" in word for word in statement)


@lru_cache(maxsize=4_096)
def _imports_more(before: str, after: str) -> bool:
    return len(set(_sources(after)) - set(_sources(before))) > 0


def _sources(text: str) -> Iterator[str]:
    for node in parse(text).root_node.named_children:
        if node.type == "import_statement":
            yield text_of(node.child_by_field_name("source"))


@lru_cache(maxsize=4_096)
def _site(site: Site, before: str, after: str, files: tuple[tuple[str, str], ...]) -> tuple[str, str]:
    if parse(after).root_node.has_error:
        return "wrong", "it does not parse"
    if raw_named(after):
        return "missed", ""
    lost = _lost(before, after, site)
    if lost:
        return "wrong", lost
    try:
        old, new = Script(before, site.path), Script(after, site.path, dict(files))
        if set(old.tests) - set(new.tests):
            return "wrong", "a test was deleted"
        return _compared(site, old, new, before)
    except NotUnderstood as error:
        return "wrong", str(error)


def _compared(site: Site, old: Script, new: Script, before: str) -> tuple[str, str]:
    texts, sent, given = set(), [], 0
    for values in site.samples:
        was, now = old.run(site.entry, values), new.run(site.entry, values)
        if any(name != "query" for name, _, _ in now):
            return "missed", ""
        if len(was) != len(now):
            return "wrong", f"it sends {len(now)} queries, it sent {len(was)}"
        if old.result != new.result:
            return "wrong", "it does not give back what the database gave"
        if any(old.checks.count(check) > new.checks.count(check) for check in old.checks):
            return "wrong", "an expectation was deleted or changed"
        texts.add(tuple(sql for _, sql, _ in now))
        sent.append(now)
        given = sum(len(bound) for _, _, bound in now)
    if len(texts) > 1:
        return "wrong", "its text depends on its values"
    for values, now in zip(site.samples, sent, strict=True):
        # What an attacker's quote does to the old text has no meaning to keep: doubled, it is a value.
        safe = tuple(v.replace("'", "''") if isinstance(v, str) else v for v in values)
        if [meaning(one) for one in old.run(site.entry, safe)] != [meaning(one) for one in now]:
            return "wrong", "it means something else"
    # A test takes no samples, so a constant put into its text would look fixed.
    put_in = sum(node.type == "template_substitution" for node in inside(parse(before).root_node))
    if given < (1 if site.samples[0] else put_in):
        return "wrong", "its values stand in the text"
    return "right", ""
