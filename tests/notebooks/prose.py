"""Which numbers the prose of a notebook claims, and which of them nothing stands behind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from anatomy import Notebook, code, prose

SCALE = {"thousand": 3, "million": 6, "billion": 9, "K": 3, "M": 6}

# A number with what belongs to it; not a part of a word, a version, a date or a longer number.
NUMBER = re.compile(
    r"(?<![\w.,/-])(?P<dollar>\$)?(?P<number>\d[\d,]*(?:\.\d+)?)"
    r"(?:[  ]?(?P<percent>%|percent\b|per cent\b))?(?:[  ]?(?P<scale>thousand|million|billion|K|M)\b)?(?![\w-]|[.,]\d)"
)
MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
# What is no claim: code, addresses, dates and years, the names of exercises and predictions, paper numbers.
NO_CLAIM = [
    r"```.*?```",
    r"`[^`]*`",
    r"\]\([^)]*\)",
    r"\b20\d\d-\d\d(?:-\d\d)?\b",
    MONTH + r" 20\d\d\b",
    r"(?<=[( ])20\d\d(?=\))",
    r"\b0\d\.p?\d\b",
    r"\barXiv \d{4}\.\d{5}",
]


@dataclass(frozen=True)
class Claim:
    """A number in prose: as it is written, its value, half a unit of its last digit, and the words around it."""

    text: str
    value: Decimal
    slack: Decimal
    percent: bool
    around: str


def claims(text: str) -> Iterator[Claim]:
    """Numbers of three digits or more, dollars and percentages, in the order of the text."""
    for pattern in NO_CLAIM:
        text = re.sub(pattern, " ", text, flags=re.S)
    for match in NUMBER.finditer(text):
        written = match["number"].rstrip(",")
        digits = written.replace(",", "").replace(".", "").lstrip("0")
        if len(digits) < 3 and not match["dollar"] and not match["percent"]:
            continue
        around = text[max(0, match.start() - 60) : match.end() + 40].replace("\n", " ")
        value, slack = _value(written, match["scale"], bool(match["percent"]))
        yield Claim(match[0].rstrip(","), value, slack, bool(match["percent"]), around)


def _value(written: str, scale: str | None, percent: bool) -> tuple[Decimal, Decimal]:
    plain = written.replace(",", "")
    places = len(plain.partition(".")[2])
    factor = Decimal(10) ** SCALE.get(scale or "", 0)
    # A whole number is exact: 5,863,120 is not 5,860,000. The rest is rounded: 5.86 million, 52.7, 53 %.
    slack = Decimal(5) * Decimal(10) ** (-places - 1) * factor if scale or places or percent else Decimal(0)
    return Decimal(plain) * factor, slack


def printed(notebook: Notebook) -> str:
    """All text that the code cells of a notebook keep as output; the notebooks keep only what is checked."""
    out: list[str] = []
    for cell in code(notebook):
        for output in cell["outputs"]:
            out += [_text(output.get("text", ""))]
            out += [_text(v) for kind, v in output.get("data", {}).items() if kind.startswith("text/")]
    return "\n".join(out)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "".join(value)


def values(text: str) -> set[Decimal]:
    """Every number of a text, with and without its percent sign or scale, as a value."""
    found: set[Decimal] = set()
    for number, scale in re.findall(r"(?<![\w.])(\d[\d,]*(?:\.\d+)?)[  ]?(thousand|million|billion|K\b|M\b)?", text):
        plain = Decimal(number.replace(",", ""))
        found |= {plain, plain * Decimal(10) ** SCALE.get(scale, 0)}
    return found


def shares(text: str) -> set[Decimal]:
    """What a text says in percent: a number with the sign, or a share such as 0.527."""
    found = set()
    for number, sign in re.findall(r"(?<![\w.])(\d[\d,]*(?:\.\d+)?)(\s?(?:%|per ?cent\b))?", text):
        value = Decimal(number.replace(",", ""))
        if sign:
            found.add(value)
        elif "." in number and value <= 1:
            found.add(100 * value)
    return found


def unfounded(notebook: Notebook, facts: Iterable[str]) -> list[str]:
    """The claims of a notebook that neither its outputs nor the facts hold; a percentage needs a percentage."""
    text = "\n".join([printed(notebook), *facts])
    plain, percent = values(text), shares(text)

    def held(claim: Claim) -> bool:
        return any(abs(k - claim.value) <= claim.slack for k in (percent if claim.percent else plain))

    return [f"{claim.text}: ...{claim.around}..." for claim in claims(prose(notebook)) if not held(claim)]
