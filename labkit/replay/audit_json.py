"""An audit as one object for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from labkit.record.trace import Usage

if TYPE_CHECKING:
    from labkit.replay.audit import Audit, Child

__all__ = ["audit_json"]


def audit_json(audit: Audit) -> dict[str, Any]:
    """What ``labkit audit --json`` prints.

    Examples
    --------
    >>> from labkit.record.trace import Block, Request, Trace
    >>> from labkit.replay.audit import audit
    >>> trace = Trace("tiny", (Block("text", "user", "hello", request=1),), (Request(1),), kind="scripted")
    >>> audit_json(audit(trace))["lines_last"]["history"]
    5
    """
    agents = [c for c in audit.children if c.kind != "compaction"]
    summaries = [c for c in audit.children if c.kind == "compaction"]
    return {
        "usage": _usage_json(audit.usage),
        "requests": audit.requests,
        "tool_calls": audit.tool_calls,
        "fixed_prefix": audit.fixed_prefix,
        "lines_billed": audit.lines_billed,
        "lines_last": audit.lines_last,
        "subagents": {
            "usage": _usage_json(_sum(agents)),
            "each": [_child_json(c) for c in agents],
            "compactions": {"usage": _usage_json(_sum(summaries)), "each": [_child_json(c) for c in summaries]},
        },
        "warnings": list(audit.warnings),
        "counter": {"name": audit.sizes.counter.name, "scale": audit.sizes.scale, "error": audit.sizes.error},
        "format": audit.format,
        "as_run": _as_run_json(audit),
        "writes_by_cause": audit.writes_by_cause,
        "residual": audit.lines_billed["residual"],
        "cost_usd": audit.cost.to_json(),
        "symptoms": [s.to_json() for s in audit.symptoms],
        "rewrites": [asdict(r) for r in audit.rewrites],
        "rows": [{"request": r.request, "total": r.total, "recorded": r.recorded, **r.lines} for r in audit.rows],
    }


def _as_run_json(audit: Audit) -> dict[str, Any]:
    run, growth = audit.as_run, audit.growth
    return {
        "requests": len(run.predictions),
        "reproduced": run.count("reproduced"),
        "expired": run.count("expired"),
        "edit": run.count("edit"),
        "unexplained": run.count("unexplained"),
        "baseline": run.baseline,
        "calibration_error": growth.error,
        "score": run.score,
        "reason": run.reason,
        "interval_covers": growth.covered,
        "flags": list(growth.flags),
    }


def _sum(children: list[Child]) -> Usage:
    return sum((c.usage for c in children), Usage())


def _usage_json(usage: Usage) -> dict[str, int]:
    return {
        "uncached": usage.uncached,
        "cache_read": usage.cache_read,
        "cache_write_5m": usage.cache_write_5m,
        "cache_write_1h": usage.cache_write_1h,
        "output": usage.output,
    }


def _child_json(child: Child) -> dict[str, Any]:
    return {
        "name": child.name,
        "requests": child.requests,
        "tool_calls": child.tool_calls,
        "usage": _usage_json(child.usage),
    }
