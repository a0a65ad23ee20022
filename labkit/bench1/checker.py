"""Whether a migration is right: every query is run on samples and compared with what it meant before."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from labkit.bench1.script import NotUnderstood, Script, Sent, _all, _text, parse
from labkit.bench1.service import Service, Site

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
        elsewhere but in comments and strings, and each site sends one fixed text whose values, put in, mean
        what the old query meant.

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
            continue
        if path not in sites and after == before:
            continue
        tree = parse(after).root_node
        if tree.has_error:
            wrong.append((path, "it does not parse"))
        elif path == "src/db.ts":
            wrong.append((path, "the database module was changed"))
        elif path in sites:
            state, why = _site(sites[path], before, after)
            if state == "missed":
                missed.append(path)
            elif state == "wrong":
                wrong.append((path, why))
        elif _raw(after):
            wrong.append((path, "queryRaw is used where it was not"))
    wrong += [
        (path, "queryRaw is used in a new file") for path in files if path not in service.files and _raw(files[path])
    ]
    return Verdict(tuple(missed), tuple(wrong))


@lru_cache(maxsize=256)
def _raw(text: str) -> bool:
    if "queryRaw" not in text:
        return False
    tree = parse(text).root_node
    return any(_text(node) == "queryRaw" for kind in _NAMES for node in _all(tree, kind))


_NAMES = (
    *("identifier", "property_identifier", "shorthand_property_identifier"),
    *("shorthand_property_identifier_pattern",),
)


@lru_cache(maxsize=4_096)
def _site(site: Site, before: str, after: str) -> tuple[str, str]:
    if _raw(after):
        return "missed", ""
    old, new = Script(before), Script(after)
    if set(old.tests) - set(new.tests):
        return "wrong", "a test was deleted"
    kept = [len(re.findall(r"\bexpect\(", _bare(text))) for text in (before, after)]
    if kept[1] < kept[0]:
        return "wrong", "an expectation was deleted"
    texts = set()
    for values in site.samples:
        try:
            was, now = old.run(site.entry, values), new.run(site.entry, values)
            if len(was) != len(now):
                return "wrong", f"it sends {len(now)} queries, it sent {len(was)}"
            texts.add(tuple(sql for _, sql, _ in now))
            if any(name != "query" for name, _, _ in now):
                return "missed", ""
            # What an attacker's quote does to the old text has no meaning to keep: doubled, it is a value.
            safe = tuple(v.replace("'", "''") if isinstance(v, str) else v for v in values)
            if [meaning(sent) for sent in old.run(site.entry, safe)] != [meaning(sent) for sent in now]:
                return "wrong", "it means something else"
        except NotUnderstood as error:
            return "wrong", str(error)
    if len(texts) > 1:
        return "wrong", "its text depends on its values"
    # A test takes no samples, so a constant put into its text would look fixed.
    least = 1 if site.samples[0] else len(_all(parse(before).root_node, "template_substitution"))
    if sum(len(v) for _, _, v in new.run(site.entry, site.samples[0])) < least:
        return "wrong", "its values stand in the text"
    return "right", ""


def _bare(text: str) -> str:
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


_TOKEN = re.compile(r"'(?:[^']|'')*'|\$\d+|\?|\w+(?:\.\w+)*|[^\s\w]")


def meaning(sent: Sent) -> tuple[Any, ...]:
    """A query as its words, with values in the place of their placeholders.

    Raises
    ------
    NotUnderstood
        If a placeholder has no value, a value no placeholder, or the SQL a stray quote.

    Examples
    --------
    >>> meaning(("query", "WHERE id = $1", (7,))) == meaning(("queryRaw", "where  id = 7", ()))
    True
    """
    _, sql, values = sent
    words: list[Any] = []
    used: set[int] = set()
    asked = 0
    for token in _TOKEN.findall(sql):
        if token == "'":
            raise NotUnderstood("a quote is not closed")
        if (token.startswith("$") and len(token) > 1) or token == "?":
            place = asked if token == "?" else int(token[1:]) - 1
            asked += token == "?"
            if not 0 <= place < len(values):
                raise NotUnderstood(f"placeholder {token} has no value")
            used.add(place)
            words.append(values[place])
        elif token.startswith("'"):
            words.append(token[1:-1].replace("''", "'"))
        else:
            words.append(int(token) if token.isdigit() else ("word", token.upper()))
    if used != set(range(len(values))):
        raise NotUnderstood("a value has no placeholder")
    while words and words[-1] == ("word", ";"):
        words.pop()
    return tuple(words)
