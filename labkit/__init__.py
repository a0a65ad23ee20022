"""Context Lab's package: record a run, replay it under a policy, price it, look at it.

The usual way in is ``import labkit as lk``. Modules that draw (``lk.plots``, ``lk.panels``) are imported
when they are first used, so that everything else runs without plotly and ipywidgets.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from labkit.errors import ContextOverflow, EditRefused, InputError, LabError, SummaryFailed
from labkit.files import data_path
from labkit.ladder.events import Event
from labkit.ladder.manager import ContextManager
from labkit.ladder.policy import Policy
from labkit.ladder.presets import Preset, load_policy, preset, presets
from labkit.ladder.rungs import Summary, clear, compact, stub
from labkit.price.cache import ARTICLE_RULES, CacheRules, cache_rules
from labkit.record.lines import LINE_ITEMS, line_of
from labkit.record.load import load
from labkit.record.recorder import record
from labkit.record.sizes import Sizes, measure
from labkit.record.tokens import Counter, count, get_counter
from labkit.record.trace import Block, Edit, Fact, Need, Prefix, Request, Trace, Usage

# The packages of these names stay importable (``from labkit.replay.replay import Row``); the
# attribute of the top level is the function, which is what people call.
from labkit.replay.replay import Replay, replay

if TYPE_CHECKING:
    from labkit.course.challenge import board, challenge
    from labkit.course.check import check
    from labkit.course.predict import predict, reveal
    from labkit.course.progress import progress
    from labkit.course.start import start
    from labkit.handoff.diff import diff
    from labkit.handoff.lanes import lanes
    from labkit.handoff.merge import merge
    from labkit.handoff.store import JsonStore
    from labkit.ladder.artifact import Artifact
    from labkit.ladder.artifact_text import render
    from labkit.ladder.artifact_writer import ArtifactWriter, extract
    from labkit.ladder.export import export
    from labkit.ladder.llm_summary import LLMSummarizer
    from labkit.ladder.notes import NotesFile
    from labkit.ladder.offload import Offload
    from labkit.ladder.summaries import ExtractiveSummarizer, SizedSummarizer
    from labkit.price.prices import Prices, prices
    from labkit.record.formats.labkit_jsonl import save
    from labkit.replay.audit import Audit, audit
    from labkit.replay.bill import Bill, bill
    from labkit.replay.choose import choose, frontier, holdout, knee
    from labkit.replay.decision import Decision, decide
    from labkit.replay.grids import grid, latin_hypercube, random_sample
    from labkit.replay.isolation import fold, unfold
    from labkit.replay.isolation_cost import enough, sides
    from labkit.replay.memory import remember
    from labkit.replay.net import Net, net
    from labkit.replay.sweep import sweep
    from labkit.replay.uses import needs_of
    from labkit.replay.whatif import WhatIf, whatif
    from labkit.show import panels, plots

# What not every program needs is imported when it is first used; name to module, which holds it or is it.
_LAZY = {
    "Artifact": "labkit.ladder.artifact",
    "ArtifactWriter": "labkit.ladder.artifact_writer",
    "Audit": "labkit.replay.audit",
    "Bill": "labkit.replay.bill",
    "Decision": "labkit.replay.decision",
    "ExtractiveSummarizer": "labkit.ladder.summaries",
    "JsonStore": "labkit.handoff.store",
    "LLMSummarizer": "labkit.ladder.llm_summary",
    "Net": "labkit.replay.net",
    "NotesFile": "labkit.ladder.notes",
    "Offload": "labkit.ladder.offload",
    "Prices": "labkit.price.prices",
    "SizedSummarizer": "labkit.ladder.summaries",
    "WhatIf": "labkit.replay.whatif",
    "audit": "labkit.replay.audit",
    "bill": "labkit.replay.bill",
    "board": "labkit.course.challenge",
    "challenge": "labkit.course.challenge",
    "check": "labkit.course.check",
    "choose": "labkit.replay.choose",
    "decide": "labkit.replay.decision",
    "diff": "labkit.handoff.diff",
    "enough": "labkit.replay.isolation_cost",
    "export": "labkit.ladder.export",
    "extract": "labkit.ladder.artifact_writer",
    "fold": "labkit.replay.isolation",
    "frontier": "labkit.replay.choose",
    "grid": "labkit.replay.grids",
    "holdout": "labkit.replay.choose",
    "knee": "labkit.replay.choose",
    "lanes": "labkit.handoff.lanes",
    "latin_hypercube": "labkit.replay.grids",
    "merge": "labkit.handoff.merge",
    "needs_of": "labkit.replay.uses",
    "net": "labkit.replay.net",
    "panels": "labkit.show.panels",
    "plots": "labkit.show.plots",
    "predict": "labkit.course.predict",
    "prices": "labkit.price.prices",
    "progress": "labkit.course.progress",
    "random_sample": "labkit.replay.grids",
    "remember": "labkit.replay.memory",
    "render": "labkit.ladder.artifact_text",
    "reveal": "labkit.course.predict",
    "save": "labkit.record.formats.labkit_jsonl",
    "sides": "labkit.replay.isolation_cost",
    "start": "labkit.course.start",
    "sweep": "labkit.replay.sweep",
    "unfold": "labkit.replay.isolation",
    "whatif": "labkit.replay.whatif",
}

__all__ = [
    "ARTICLE_RULES",
    "LINE_ITEMS",
    "Artifact",
    "ArtifactWriter",
    "Audit",
    "Bill",
    "Block",
    "CacheRules",
    "ContextManager",
    "ContextOverflow",
    "Counter",
    "Decision",
    "Edit",
    "EditRefused",
    "Event",
    "ExtractiveSummarizer",
    "Fact",
    "InputError",
    "JsonStore",
    "LLMSummarizer",
    "LabError",
    "Need",
    "Net",
    "NotesFile",
    "Offload",
    "Policy",
    "Prefix",
    "Preset",
    "Prices",
    "Replay",
    "Request",
    "SizedSummarizer",
    "Sizes",
    "Summary",
    "SummaryFailed",
    "Trace",
    "Usage",
    "WhatIf",
    "audit",
    "bill",
    "board",
    "cache_rules",
    "challenge",
    "check",
    "choose",
    "clear",
    "compact",
    "count",
    "data_path",
    "decide",
    "diff",
    "enough",
    "export",
    "extract",
    "fold",
    "frontier",
    "get_counter",
    "grid",
    "holdout",
    "knee",
    "lanes",
    "latin_hypercube",
    "line_of",
    "load",
    "load_policy",
    "measure",
    "merge",
    "needs_of",
    "net",
    "panels",
    "plots",
    "predict",
    "preset",
    "presets",
    "prices",
    "progress",
    "random_sample",
    "record",
    "remember",
    "render",
    "replay",
    "reveal",
    "save",
    "sides",
    "start",
    "stub",
    "sweep",
    "unfold",
    "whatif",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'labkit' has no attribute {name!r}")
    module = import_module(_LAZY[name])
    return module if name in ("panels", "plots") else getattr(module, name)
