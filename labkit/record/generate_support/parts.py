"""What several results share: their form, times, names."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

from labkit.files import data_path
from labkit.record.generate_support.case import Case

__all__ = ["AGENTS", "DEPOTS", "address", "as_json", "document", "moment"]

AGENTS = ("Jonna", "Marek", "Ulrike", "Sten", "Pia", "Oskar")


DEPOTS = ("Malmö Fosie", "Lund Norra", "Kiel Hafen", "Lübeck Roggenhorst", "Hamburg Billbrook")


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def moment(day: str, minutes: int, seconds: int = 0) -> str:
    moment = datetime.fromisoformat(day) + timedelta(minutes=minutes, seconds=seconds)
    return f"{moment:%Y-%m-%dT%H:%M:%S}+02:00"


def document(name: str) -> str:
    return data_path("support", name).read_text(encoding="utf-8").strip()


def address(case: Case) -> dict[str, str]:
    return {
        "name": case.name,
        "street": case.street,
        "postcode": case.postcode,
        "city": case.city,
        "country": "DE",
    }
