"""The case that support-40 is about: names, numbers, amounts and days, drawn from a seed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random

__all__ = ["Case", "draw_case"]

_NAMES = ("Ines Kallweit", "Maja Lindqvist", "Greta Paulsen", "Hanna Brodersen", "Alma Wendt", "Tilda Nyholm")
_STREETS = ("Wiesenredder", "Am Alten Speicher", "Fliederweg", "Hinter den Höfen", "Mühlenkamp", "Birkenallee")
_CITIES = (("24103", "Kiel"), ("23552", "Lübeck"), ("24937", "Flensburg"), ("25813", "Husum"), ("24534", "Neumünster"))
_LAMPS = ("Thaw reading lamp", "Frost table lamp", "Quay lantern", "Hearth table lamp", "Harvest floor lamp")
_HEX = "0123456789abcdef"
_CODES = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"


@dataclass(frozen=True)
class Case:
    """Everything that differs from one seed to the next; amounts and times are texts as they are printed."""

    ticket: str
    customer: str
    order: str
    name: str
    first: str
    street: str
    postcode: str
    city: str
    language: str
    card: str
    account: str
    lamp: str
    sku: str
    price: str
    total: str
    both: str
    waited: str
    gap: str
    day: str
    today: str
    arrival: str
    pay: str
    late: str
    late_request: str
    key1: str
    key2: str
    shipment: str
    tracking: str
    invoice: str
    scan: str
    reservation: str
    incident: str
    approval: str
    refund: str
    template: str
    draft: str
    root: str

    def fill(self, text: str) -> str:
        """Put the case's words into a text with names in braces."""
        return text.format_map(asdict(self))


def _letters(rng: Random, alphabet: str, n: int) -> str:
    return "".join(rng.choice(alphabet) for _ in range(n))


def _number(rng: Random, digits: int) -> str:
    return str(rng.randrange(10 ** (digits - 1), 10**digits))


def _in_words(day: datetime) -> str:
    # Not strftime's %B, which speaks the language of the machine.
    return f"{day.day} {('April', 'May')[day.month - 4]} {day.year}"


def draw_case(rng: Random) -> Case:
    """Draw a case.

    Examples
    --------
    >>> case = draw_case(Random(40))
    >>> Decimal(case.both) == 2 * Decimal(case.total) == 2 * (Decimal(case.price) + Decimal("9.90"))
    True
    """
    name = rng.choice(_NAMES)
    postcode, city = rng.choice(_CITIES)
    price = Decimal(rng.randrange(1_590, 2_390)) / 10
    total = price + Decimal("9.90")  # gift wrapping 4.90, express 5.00
    waited = rng.randrange(16, 23)
    today = datetime(2026, 4, 13) + timedelta(weeks=rng.randrange(4))
    opened = today - timedelta(days=waited)
    order = "FL-" + _number(rng, 5)
    key = _letters(rng, _HEX, 8)
    return Case(
        ticket=_number(rng, 5),
        customer="C-" + _number(rng, 6),
        order=order,
        name=name,
        first=name.split()[0],
        street=f"{rng.choice(_STREETS)} {rng.randrange(2, 60)}",
        postcode=postcode,
        city=city,
        language="de",
        card=_number(rng, 4),
        account=f"acct_{_letters(rng, _CODES, 6)}",
        lamp=rng.choice(_LAMPS),
        sku=f"LMP-{_number(rng, 4)}",
        price=f"{price:.2f}",
        total=f"{total:.2f}",
        both=f"{2 * total:.2f}",
        waited=str(waited),
        gap=str(rng.randrange(31, 39)),
        day=f"{opened:%Y-%m-%d}",
        today=f"{today:%Y-%m-%d}",
        arrival=_in_words(today + timedelta(days=2)),
        pay="pay_" + _letters(rng, _CODES, 10),
        late="cap_" + _letters(rng, _HEX, 12),
        late_request="req_" + _letters(rng, _HEX, 12),
        key1=f"{key}-{_letters(rng, _HEX, 6)}",
        key2=f"{key}-{_letters(rng, _HEX, 6)}",
        shipment="SH-" + _number(rng, 7),
        tracking=f"NP{_number(rng, 4)} {_number(rng, 4)} {_number(rng, 2)}",
        invoice=f"{opened:%Y}-{_number(rng, 6)}",
        scan="SC-" + _number(rng, 8),
        reservation="RSV-" + _letters(rng, _CODES, 6),
        incident="INC-" + _number(rng, 4),
        approval="APR-" + _letters(rng, _CODES, 6),
        refund="RF" + _number(rng, 9),
        template="TPL-" + _number(rng, 3),
        draft="DR-" + _letters(rng, _CODES, 5),
        root=f"RC-{rng.randrange(20, 90)}",
    )
