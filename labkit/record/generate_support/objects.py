"""Single things that the desk's tools return: a ticket, an order, a payment."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from random import Random

from labkit.record.generate_support.case import Case
from labkit.record.generate_support.parts import AGENTS, DEPOTS, address, as_json, moment

__all__ = ["customer", "invoice", "order", "payment", "payments", "shipment", "ticket"]

_CAUSES = ("address misread", "stock wrong", "customer changed her mind", "article faulty", "carrier lost the parcel")


# After the order was sent: the label, the old address on it, was right.
_MOVED_TO = "Hafenstraße 9, 24159 Kiel"
_TERMS = (
    "Goods stay ours until they are paid.",
    "The customer may withdraw within thirty days without giving a reason.",
    "Bulbs that were used are not taken back, except when they are faulty.",
    "Damage in transit is ours until the parcel is handed over at the door.",
    "Refunds are made without a fee.",
    "The invoice is valid without a signature.",
)


def ticket(case: Case, rng: Random) -> str:
    thread = [
        (0, "mail", f"I ordered the {case.lamp} as a present, with gift wrapping and express. Order {case.order}."),
        (1, "mail", "My bank shows two payments of the same amount on the same day. Picture attached."),
        (3, "internal", "shop shows one payment only, asked finance, no answer yet"),
        (4, "mail", "The parcel was one stop away and then turned round. Why? I was at home all day."),
        (6, "outgoing", "We look into it and will write on Friday at the latest."),
        (9, "mail", "It is Friday evening."),
        (12, "mail", f"I have moved meanwhile. My new address from now on is: {_MOVED_TO}."),
        (14, "internal", "carrier does not answer the phone, second agent took over"),
        (int(case.waited), "mail", "I have now waited long enough. Please settle both things and tell me how."),
    ]
    codes = {f"RC-{n}": _CAUSES[n % len(_CAUSES)] for n in sorted({11, 14, 17, 91, 95, int(case.root[3:]) + 1})}
    codes[case.root] = "payment captured more than once"
    return as_json(
        {
            "ticket_id": case.ticket,
            "shop": "lumen-de",
            "status": "open",
            "priority": "high",
            "service_level": {"first_answer_hours": 8, "solution_days": 10, "breached": True},
            "customer_id": case.customer,
            "order_id": case.order,
            "language": case.language,
            "tags": ["payment", "parcel", "second contact", "promise broken"],
            "assigned": ["Marek", "Ulrike", "agent"],
            "thread": [
                {
                    "message": i,
                    "at": moment(case.day, 1440 * day + 60 * rng.randrange(8, 20)),
                    "channel": channel,
                    "language": "en, translated from de" if channel == "mail" else "en",
                    "mood": rng.choice(("calm", "annoyed", "tired")) if channel == "mail" else None,
                    "attachments": ["statement.png"] if i == 2 else [],
                    "text": text,
                }
                for i, (day, channel, text) in enumerate(thread, 1)
            ],
            "closing_fields": {"root_cause": dict(sorted(codes.items())), "outcome": "one sentence, with amounts"},
        }
    )


def order(status: str, minutes: int) -> Callable[[Case, Random], str]:
    """The order at one of the three moments at which it is read."""

    def order(case: Case, rng: Random) -> str:
        history = [
            ("placed", 0),
            ("paid", 1),
            ("packed", 190),
            ("handed_over", 420),
            ("in_delivery", 2_900),
            ("delivery_failed", 3_110),
        ]
        if status != "delivery_failed":
            history.append((status, minutes))
        return as_json(
            {
                "order_id": case.order,
                "read_at": moment(case.today, 840 + minutes % 97),
                "status": status,
                "customer_id": case.customer,
                "positions": [
                    {
                        "position": 1,
                        "sku": case.sku,
                        "title": case.lamp,
                        "pieces": 1,
                        "unit_price": case.price,
                        "tax_rate": "19.0",
                        "options": [{"code": "gift_wrap", "price": "4.90", "text": "with love, for your new flat"}],
                    }
                ],
                "shipping": {"service": "express", "price": "5.00", "warehouse": "MAL2"},
                "total": {"amount": case.total, "currency": "EUR"},
                "delivery_address": {**address(case), "label_checked": True},
                "payments": [{"payment_id": case.pay, "state": "captured", "instrument": f"card ending {case.card}"}],
                "shipments": [{"shipment_id": case.shipment, "tracking_id": case.tracking, "carrier": "NordPak"}],
                "invoice_id": case.invoice,
                "returns": [] if status != "return_opened" else [{"cause": "damaged", "state": "expected"}],
                "refunds": [],
                "history": [
                    {"status": name, "at": moment(case.day, 845 + after), "by": rng.choice(("shop", "warehouse"))}
                    for name, after in history
                ],
                "notes": [{"by": "Ulrike", "text": "customer called twice, please read the ticket first"}],
                "packing": [
                    {
                        "step": step,
                        "by": rng.choice(AGENTS),
                        "bench": rng.randrange(1, 20),
                        "seconds": rng.randrange(20, 300),
                    }
                    for step in ("pick", "check glass", "wrap as gift", "foam corners", "box", "label", "weigh")
                ],
                "messages": [
                    {
                        "to": "customer",
                        "template": f"TPL-{rng.randrange(100, 999)}",
                        "state": "delivered",
                        "opened": rng.random() < 0.5,
                    }
                    for _ in range(6)
                ],
                "origin": {
                    "campaign": None,
                    "device": "phone",
                    "basket_minutes": rng.randrange(3, 50),
                    "voucher": None,
                },
            }
        )

    return order


def customer(case: Case, rng: Random) -> str:
    return as_json(
        {
            "customer_id": case.customer,
            "name": case.name,
            "language": case.language,
            "since": f"20{rng.randrange(18, 24)}-0{rng.randrange(1, 10)}-1{rng.randrange(10)}",
            "addresses": [
                {**address(case), "valid_from": "2021-06", "default": False},
                {"new": _MOVED_TO, "valid_from": case.today, "default": True},
            ],
            "consents": {"newsletter": False, "calls": False, "parcel_notice": True},
            "instruments": [
                {"kind": "card", "ending": case.card, "state": "valid", "checked": case.day},
                {"kind": "bank_account", "id": case.account, "holder": case.name, "state": "verified"},
            ],
            "club": {"tier": "Candle", "sparks": rng.randrange(160, 390), "until": "2026-11-30"},
            "orders": 9,
            "returns": 1,
        }
    )


def payments(case: Case, rng: Random) -> str:
    attempts = [
        ("authorisation", "ok", 0, case.pay),
        ("capture", "failed", 2, "none stored"),
        ("capture", "captured", 2 + int(case.gap), case.pay),
    ]
    return as_json(
        {
            "order_id": case.order,
            "attempts": [
                {
                    "kind": kind,
                    "state": state,
                    "at": moment(case.day, 845, after),
                    "amount": case.total,
                    "currency": "EUR",
                    "instrument": f"card ending {case.card}",
                    "gateway": "KassaLink",
                    "number": number,
                    "answer_ms": 30_000 if state == "failed" else rng.randrange(240, 900),
                    "client": {"version": "4.11.2", "host": f"shop-{rng.randrange(1, 30)}", "retry_of": None},
                    "risk": {"score": rng.randrange(1, 30), "rules": ["known device", "known address"]},
                    "message": "GatewayTimeoutError: no answer to capture within 30 s" if state == "failed" else "ok",
                }
                for kind, state, after, number in attempts
            ],
            "paid": case.total,
            "refunded": "0.00",
        }
    )


def payment(number: str, at: str, state: str) -> Callable[[Case, Random], str]:
    """One capture; ``number`` and ``at`` are names of the case's fields in braces."""

    def payment(case: Case, rng: Random) -> str:
        steps = (
            "risk check",
            "authorise",
            "three-d secure",
            "authorise answer",
            "capture",
            "capture answer",
            "booking",
        )
        return as_json(
            {
                "number": case.fill(number),
                "state": state,
                "amount": case.total,
                "currency": "EUR",
                "instrument": f"card ending {case.card}",
                "idempotency_key": "ends with " + case.fill(at)[-3:],
                "life": [
                    {
                        "step": step,
                        "at": moment(case.day, 845, 3 * i),
                        "node": f"gw-{rng.randrange(1, 7)}",
                        "answer_ms": rng.randrange(40, 900),
                        "code": "00",
                        "trace": f"{rng.getrandbits(48):012x}",
                        "bytes": rng.randrange(300, 2_000),
                        "retries": 0,
                        "text": "approved" if "answer" in step else "sent",
                    }
                    for i, step in enumerate(steps)
                ],
                "settled": moment(case.day, 2_880),
                "known_to_shop": state == "captured",
            }
        )

    return payment


def shipment(case: Case, rng: Random) -> str:
    return as_json(
        {
            "shipment_id": case.shipment,
            "service": "express",
            "insured": {"amount": "500.00", "currency": "EUR"},
            "label": {"printed": moment(case.day, 1_030), "address": address(case), "check": "passed"},
            "handover": {"at": moment(case.day, 1_265), "dock": rng.randrange(1, 20), "signed": True},
            "boxes": [{"weight_g": 2_840, "cm": [42, 31, 28], "fragile": True, "seal": rng.randrange(10**6)}],
            "route": [
                {
                    "leg": i,
                    "from": a,
                    "to": b,
                    "planned": moment(case.day, 1_400 + 300 * i),
                    "slot": rng.randrange(1, 30),
                }
                for i, (a, b) in enumerate(pairwise(DEPOTS), 1)
            ],
            "carrier_notices": ["delivery tomorrow before 12:00", "courier is near", "courier could not find you"],
        }
    )


def invoice(case: Case, rng: Random) -> str:
    lines = [(case.lamp, case.price), ("gift wrapping", "4.90"), ("express delivery", "5.00")]
    return as_json(
        {
            "invoice_id": case.invoice,
            "order_id": case.order,
            "lines": [
                {
                    "line": i,
                    "text": text,
                    "pieces": 1,
                    "gross": gross,
                    "tax_rate": "19.0",
                    "account": str(rng.randrange(4_000, 4_900)),
                    "discounts": [],
                    "refundable": True,
                    "net": f"{float(gross) / 1.19:.2f}",
                    "revenue_group": rng.choice(("goods", "services")),
                    "delivered": False,
                }
                for i, (text, gross) in enumerate(lines, 1)
            ],
            "totals": {"gross": case.total, "currency": "EUR", "paid": case.total, "open": "0.00"},
            "seller": {"name": "Lumen & Larch GmbH", "vat": "DE000000000", "city": "Flensburg"},
            "bookings": [
                {
                    "at": moment(case.day, 1440 * i + 900),
                    "text": text,
                    "journal": rng.randrange(10_000, 99_999),
                    "clerk": rng.choice(AGENTS),
                    "amount": case.total if i < 2 else "0.00",
                }
                for i, text in enumerate(
                    ("invoice", "payment", "month closed", "returned parcel noted", "reminder none")
                )
            ],
            "terms": [f"Paragraph {i}: {text}" for i, text in enumerate(_TERMS, 1)],
        }
    )
