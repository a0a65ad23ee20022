"""Which result each call of support-40 gets."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from labkit.record.generate_support.case import Case
from labkit.record.generate_support.lists import incidents, orders, parcel, stock, templates, tickets
from labkit.record.generate_support.log import gateway_log, timeouts
from labkit.record.generate_support.objects import customer, invoice, order, payment, payments, shipment, ticket
from labkit.record.generate_support.parts import as_json, document, moment

__all__ = ["RESULTS"]


def _receipt(case: Case, rng: Random) -> dict[str, Any]:
    """What the desk's server adds to the answer of every action."""
    return {
        "at": moment(case.today, rng.randrange(600, 1_070), rng.randrange(60)),
        "node": f"desk-{rng.randrange(1, 9)}",
        "trace": f"{rng.getrandbits(64):016x}",
        "audit": {"ticket_id": case.ticket, "stored": True, "visible_to": ["desk", "finance", "auditors"]},
        "limits": {"left_this_hour": rng.randrange(100, 900), "resets_in_s": rng.randrange(60, 3_600)},
        "links": [f"desk/{case.ticket}/{part}" for part in ("actions", "log", "undo")],
    }


def _small(**values: str) -> Callable[[Case, Random], str]:
    """A short answer; every value is filled with the case's words."""

    def small(case: Case, rng: Random) -> str:
        answer: dict[str, Any] = {name: case.fill(text) for name, text in values.items()}
        return as_json({**answer, "receipt": _receipt(case, rng)})

    return small


RESULTS: dict[int, tuple[Callable[[Case, Random], str], ...]] = {
    1: (ticket,),
    2: (order("delivery_failed", 0),),
    3: (customer, payments),
    4: (parcel(opened=False),),
    5: (tickets,),
    6: (payment("{pay}", "{key2}", "captured"),),
    7: (lambda case, rng: document("refunds.md"),),
    8: (stock(gone=False),),
    9: (lambda case, rng: "ok: Decisions has 1 entries",),
    10: (lambda case, rng: document("loyalty.md"),),
    11: (_small(reservation_id="{reservation}", sku="{sku}", warehouse="MAL2", pieces="1", ends="in 15 minutes"),),
    12: (gateway_log,),
    13: (timeouts,),
    14: (payment("{late}", "{key1}", "captured late"),),
    15: (lambda case, rng: "ok: Findings has 1 entries",),
    16: (order("returning", 7_200),),
    17: (lambda case, rng: document("claims.md"),),
    18: (shipment,),
    19: (incidents,),
    20: (parcel(opened=True),),
    21: (stock(gone=True),),
    22: (lambda case, rng: "ok: Decisions rewritten",),
    23: (_small(reservation_id="{reservation}", state="cleared", order="{order} can be changed again"),),
    24: (_small(return_of="{order}", positions="1", cause="damaged", owner="MAL2", stock="decided at arrival"),),
    25: (orders,),
    26: (invoice,),
    27: (_small(approval_id="{approval}", kind="refund", amount="{both} EUR", rule="4.3", state="pending"),),
    28: (templates,),
    29: (_small(state="refused", error="ClaimWindowError: window of 14 days counted from the first scan has passed"),),
    30: (_small(state="accepted", amount="{price} EUR", form="NP-C14", paid="in three to six weeks"),),
    31: (
        lambda case, rng: (
            "## Decisions\n- refund both charges in full by bank transfer, no replacement, never to the "
            "old card\n\n## Findings\n- both captures are final, the late one is unknown to the shop\n"
        ),
    ),
    32: (_small(approval_id="{approval}", state="approved", amount="{both} EUR", by="team lead", valid="24 hours"),),
    33: (lambda case, rng: document("refunds.md"),),
    34: (order("return_opened", 23_800),),
    35: (_small(refund_id="{refund}", amount="{both} EUR", method="bank_transfer", reason_code="RF-12", state="sent"),),
    36: (_small(state="taken", incident="{incident}", queue="gateway team", answer="not before tomorrow"),),
    37: (_small(refund_id="{refund}", state="accepted by the bank", arrives="{arrival}", fee="0.00 EUR"),),
    38: (_small(draft_id="{draft}", length="ok", placeholders="ok", promises="ok, the day comes from the bank"),),
    39: (_small(draft_id="{draft}", state="sent", channel="mail", language="{language}"),),
    40: (_small(ticket_id="{ticket}", state="closed", root_cause="{root}", reopened_by="an answer of the customer"),),
}
"""What each turn's calls return, in the order of the calls."""
