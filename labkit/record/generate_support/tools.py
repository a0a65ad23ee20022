"""The tool schemas of support-40: 37 tools of a webshop's support desk, as an agent gets them with every request.

``data/support/tools.txt`` holds a line a tool; :func:`schemas` writes it out as providers want it. Parts that
several tools share (money, an address, the audit trail, the shop's session) are written out in each of them, as
real tool servers do. That is why 37 short descriptions weigh more than 12,000 tokens.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from labkit.files import data_path

__all__ = ["schemas"]


def _text(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


def _object(description: str, required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "description": description, "properties": properties, "required": required}


_COUNTRY = _text("Two-letter country code, ISO 3166-1 alpha-2, in capitals.", pattern="^[A-Z]{2}$")
MONEY = _object(
    "An amount of money. Amounts are decimal strings, so that no cent is lost in a float.",
    ["amount", "currency"],
    amount=_text("Decimal string with a point, for example 194.30; never negative.", pattern=r"^\d+\.\d{2}$"),
    currency=_text("Currency of the order, ISO 4217.", enum=["EUR", "SEK", "DKK", "NOK", "PLN", "CZK"]),
)
ADDRESS = _object(
    "A postal address as the carrier prints it.",
    ["name", "street", "postcode", "city", "country"],
    name=_text("Name of the person or company at the door."),
    street=_text("Street and house number, one line, at most 60 characters.", maxLength=60),
    extra=_text("Floor, entrance code or care-of line."),
    postcode=_text("Postcode as written in its country, with or without blanks."),
    city=_text("City; the carrier checks it against the postcode."),
    country=_COUNTRY,
)
PAGE = _object(
    "Which part of a long list to return.",
    [],
    limit={"type": "integer", "minimum": 1, "maximum": 500, "default": 25, "description": "Entries a page."},
    cursor=_text("The next_cursor of the page before; leave out for the first page."),
    order=_text("Sorting by time.", enum=["newest_first", "oldest_first"], default="newest_first"),
)
PERIOD = _object(
    "A span of time; both ends are included.",
    ["start", "end"],
    start=_text("First day, ISO 8601 date.", format="date"),
    end=_text("Last day, ISO 8601 date; at most 120 days after the first.", format="date"),
)
AUDIT = _object(
    "Who asks and why; stored with the action and shown to the auditors.",
    ["ticket_id", "reason"],
    ticket_id=_text("Ticket under which the action is taken.", pattern=r"^\d{5}$"),
    reason=_text("One sentence in plain words, no personal data.", minLength=10, maxLength=200),
    idempotency_key=_text("Repeat the same key when you repeat the call, or the action is taken twice."),
)
FIELDS = {
    "type": "array",
    "items": {"type": "string"},
    "description": "Names of the fields to return; leave out for all of them. Fewer fields make a shorter result.",
}
SESSION = _object(
    "Which shop and customer channel the call belongs to. The desk serves four shops with one set of tools.",
    ["shop"],
    shop=_text("Code of the shop.", enum=["lumen-de", "lumen-se", "lumen-dk", "lumen-pl"]),
    channel=_text("How the customer wrote to us.", enum=["mail", "chat", "phone", "letter"], default="mail"),
)
PARTS: dict[str, Any] = {
    "amount": MONEY,
    "address": ADDRESS,
    "page": PAGE,
    "period": PERIOD,
    "audit": AUDIT,
    "fields": FIELDS,
}


def _parameters(listed: str) -> tuple[dict[str, Any], list[str]]:
    properties: dict[str, Any] = {}
    required = []
    for given in filter(None, (part.strip() for part in listed.split(";"))):
        name, _, description = given.partition(": ")
        if name.endswith("*"):
            name = name[:-1]
            required.append(name)
        properties[name] = PARTS[name] if not description else _typed(description)
    return properties, required


def _typed(description: str) -> dict[str, Any]:
    spec: dict[str, Any] = {"type": "integer", "minimum": 1} if description == "How many" else {"type": "string"}
    if ", one of " in description or description.startswith("One of "):
        listed = description.split("ne of ")[1].split(", default")[0]
        spec["enum"] = [choice.strip() for choice in listed.split(",")]
    return {**spec, "description": description + "."}


@lru_cache(maxsize=1)
def schemas() -> str:
    """All tools as one JSON text, the way it stands before the system prompt of a request.

    Examples
    --------
    >>> tools = json.loads(schemas())
    >>> len(tools), tools[0]["name"], tools[0]["input_schema"]["required"]
    (37, 'get_ticket', ['ticket_id'])
    """
    tools = []
    table = data_path("support", "tools.txt").read_text(encoding="utf-8")
    for line in table.splitlines()[1:]:
        name, listed, description = (part.strip() for part in line.split("|"))
        properties, required = _parameters(listed)
        if not name.startswith("notes_"):
            properties["session"] = SESSION
        tools.append(
            {
                "name": name,
                "description": description,
                "input_schema": {
                    "type": "object",
                    "properties": properties,
                    "required": required,
                    "additionalProperties": False,
                },
            }
        )
    return json.dumps(tools, ensure_ascii=False)
