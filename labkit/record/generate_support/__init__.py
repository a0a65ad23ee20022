"""The support run: a case drawn from a seed, the story in ``data/support``, and what the tools return."""

from __future__ import annotations

from labkit.record.generate_support.run import CONSTRAINT, LONG_RESULT_TURN, PAUSE, SUPERSEDED, support_run

__all__ = ["CONSTRAINT", "LONG_RESULT_TURN", "PAUSE", "SUPERSEDED", "support_run"]
