"""Long lists that the desk's tools return: scans, earlier tickets, shelves, orders, templates, incidents."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from labkit.record.generate_support.case import Case
from labkit.record.generate_support.parts import AGENTS, DEPOTS, as_json, moment

__all__ = ["incidents", "orders", "parcel", "stock", "templates", "tickets"]

_GOODS = ("LED filament 6 W", "LED globe 4 W", "linen shade, sand", "felt shade, rust", "ceiling rose, brass", "dimmer")


_LAST = (
    "Thank you, that was quick. I keep the first one for the bulb in the hall.",
    "All right. Next time please say so at once and not after three mails.",
    "It works now, and the light is as warm as I had hoped it would be.",
    "I have not heard from you since. Is anybody still looking at this?",
    "Then I will send it back next week, when I am near a pickup point again.",
)


_EARLIER = (
    ("Shade arrived with a dent", "sent a second shade, the first one may be kept"),
    ("Invoice for the tax office", "sent the invoice again as PDF"),
    ("Dimmer hums", "explained which bulbs the dimmer takes, no goodwill"),
    ("New address", "address added, default from the day of the mail"),
    ("Where is my order", "said that the parcel is on its way and that we will write when there is news"),
    ("Wrong plug", "exchanged, the carrier took the old one along"),
    ("Question about opening hours", "answered from the template"),
    ("Newsletter", "consent withdrawn"),
)


_OPENINGS = (
    "Thank you for your patience. We have looked at your payment and found the cause.",
    "You wrote to us about a charge that you do not recognise, and you were right to do so.",
    "Your parcel did not reach you, and that must not happen. This is what we do about it.",
    "We have good news about your order, and one thing that we need to put right.",
    "You asked how long the bank needs. Here is what it told us today.",
)


def parcel(opened: bool) -> Callable[[Case, Random], str]:
    def parcel(case: Case, rng: Random) -> str:
        texts = [("21", "accepted"), ("21", "sorted"), ("21", "left the depot"), ("21", "arrived")]
        scans = [
            {
                "scan": f"SC-{rng.randrange(10**7, 10**8)}",
                "at": moment(case.day, 1_300 + 130 * i),
                "depot": DEPOTS[i // 3 % len(DEPOTS)],
                "code": texts[i % 4][0],
                "text": texts[i % 4][1],
                "belt": rng.randrange(1, 40),
                "vehicle": f"NP-{rng.randrange(100, 999)}",
                "weight_g": 2_840 + rng.randrange(-9, 9),
            }
            for i in range(28)
        ]
        ends = [("41", "AddressError: house number does not exist in this street", 2_300), ("70", "returning", 4_400)]
        if opened:
            ends = [*ends, ("63", "tape torn, box open, glass broken, pictures taken", 21_000)]
        for code, text, after in ends:
            scans.append(
                {
                    "scan": case.scan if code == "63" else f"SC-{rng.randrange(10**7, 10**8)}",
                    "at": moment(case.day, 2_700 + after),
                    "depot": "Hamburg Billbrook" if code == "63" else "Kiel Hafen",
                    "code": code,
                    "text": text,
                    "belt": 0,
                }
            )
        return as_json({"tracking_id": case.tracking, "service": "express", "weight_g": 2_840, "scans": scans})

    return parcel


def tickets(case: Case, rng: Random) -> str:
    tickets = []
    for i in range(14):
        subject, outcome = _EARLIER[i % len(_EARLIER)]
        tickets.append(
            {
                "ticket_id": str(rng.randrange(10_000, 99_999)),
                "opened": moment(case.day, -1440 * (17 * i + rng.randrange(3, 15))),
                "subject": subject,
                "agent": rng.choice(AGENTS),
                "outcome": outcome,
                "answers": rng.randrange(1, 5),
                "rating": rng.choice((None, 3, 4, 5)),
                "promised": "news by Friday" if subject.startswith("Where") else None,
                "order_id": f"FL-{rng.randrange(10_000, 99_999)}",
                "channel": rng.choice(("mail", "chat", "phone")),
                "last_message": rng.choice(_LAST),
            }
        )
    return as_json({"customer_id": case.customer, "tickets": tickets, "next_cursor": None})


def stock(gone: bool) -> Callable[[Case, Random], str]:
    def stock(case: Case, rng: Random) -> str:
        free = {"MAL2": 0 if gone else 2, "LEJ1": 0, "GDN3": 0}
        shelves: list[dict[str, Any]] = []
        for warehouse, pieces in free.items():
            shelves += [
                {
                    "warehouse": warehouse,
                    "shelf": f"{rng.choice('ABCDEF')}{rng.randrange(1, 60):02d}-{rng.randrange(1, 9)}",
                    "free": pieces if i == 0 else 0,
                    "reserved": rng.randrange(0, 3),
                    "blocked": rng.randrange(0, 2),
                    "batch": f"{case.sku}-{rng.randrange(100, 999)}",
                    "counted": moment(case.today, -60 * rng.randrange(30, 400)),
                }
                for i in range(8)
            ]
        answer: dict[str, Any] = {"sku": case.sku, "title": case.lamp, "shelves": shelves, "next_delivery": None}
        if gone:
            answer["reservations"] = [
                {"id": case.reservation, "state": f"ReservationExpiredError: {case.reservation} ended after 15 minutes"}
            ]
        return as_json(answer)

    return stock


def orders(case: Case, rng: Random) -> str:
    orders = [
        {
            "order_id": case.order if i == 0 else f"FL-{rng.randrange(10_000, 99_999)}",
            "placed": moment(case.day, 845 - 1440 * 23 * i),
            "goods": rng.sample(_GOODS, 2) if i else [case.lamp],
            "total": case.total if i == 0 else f"{rng.randrange(900, 9_900) / 100:.2f}",
            "payment": "card" if i % 3 else f"card ending {case.card}",
            "captures_at_gateway": 2 if i == 0 else 1,
            "status": "return_opened" if i == 0 else "delivered",
            "warehouse": rng.choice(("MAL2", "LEJ1")),
            "service": rng.choice(("standard", "express", "pickup_point")),
            "invoice_id": f"20{rng.randrange(20, 26)}-{rng.randrange(100_000, 999_999)}",
            "sparks": rng.randrange(5, 190),
        }
        for i in range(25)
    ]
    return as_json({"customer_id": case.customer, "orders": orders, "next_cursor": None})


def templates(case: Case, rng: Random) -> str:
    topics = ("late payment", "double charge", "charge by a stranger", "voucher", "price difference", "withdrawal")
    found = [
        {
            "template_id": case.template if i == 7 else f"TPL-{rng.randrange(100, 999)}",
            "title": "double charge and parcel returned" if i == 7 else f"{topics[i % 6]}, variant {i // 6 + 1}",
            "language": case.language,
            "use_when": "two charges and the goods did not arrive" if i == 7 else f"the case is {topics[i % 6]} alone",
            "placeholders": rng.sample(["name", "order", "amount", "day", "lamp", "reason", "city"], 4),
            "words": rng.randrange(80, 190),
            "opening": rng.choice(_OPENINGS),
            "owner": rng.choice(AGENTS),
            "checked": case.day,
            "used_this_month": rng.randrange(0, 60),
        }
        for i in range(22)
    ]
    return as_json({"topic": "payment", "templates": found, "next_cursor": None})


def incidents(case: Case, rng: Random) -> str:
    causes = ("certificate renewed late", "queue full", "node restarted", "network of the data centre", "slow database")
    found = [
        {
            "incident": case.incident if i == 4 else f"INC-{rng.randrange(1_000, 9_999)}",
            "system": "gateway",
            "start": moment(case.day, 70 * i + (545 if i >= 4 else 0), 30),
            "minutes": rng.randrange(2, 25),
            "cause": causes[i % 5],
            "seen": "captures carried out after the client had given up" if i == 4 else "answers slower than usual",
            "orders": rng.randrange(2, 40),
            "nodes": rng.sample(["gw-1", "gw-2", "gw-3", "gw-4", "gw-5", "gw-6"], 3),
            "noticed_by": rng.choice(("alarm", "merchant", "bank")),
            "found": "the client retries with a new key, so the gateway cannot know it is the same payment"
            if i == 4
            else "no payment was lost, no payment was made twice",
            "state": "closed" if i != 4 else "closed, effects not repaired",
        }
        for i in range(15)
    ]
    return as_json({"system": "gateway", "incidents": found})
