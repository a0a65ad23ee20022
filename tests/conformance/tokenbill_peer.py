"""What tokenbill bills for a Claude Code session. Imported only where it is installed: ``make conformance``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

INPUT = ("uncached", "cache_read", "cache_write_5m", "cache_write_1h")


def bill(path: Path) -> list[dict[str, Any]]:
    """A row a call of the model: its id, tokens, dollars of the input, whether it was estimated, and if final."""
    from tokenbill.adapters.claude_code import ClaudeCodeAdapter
    from tokenbill.core.records import UsageSource
    from tokenbill.core.types import IngestOptions
    from tokenbill.rates.engine import RateCard
    from tokenbill.rates.schema import load_builtin

    options = IngestOptions(name_key=b"k" * 32, principal_key=b"p" * 32)
    card = RateCard(load_builtin("anthropic"))
    rows = []
    for file in [path, *sorted(path.with_suffix("").glob("subagents/**/*.jsonl"))]:
        for request in ClaudeCodeAdapter().read(file, options).requests:
            for attempt in request.attempts:
                for inference in attempt.inferences:
                    used = inference.usage
                    written = used.cache_write_5m + used.cache_write_unknown
                    counts = (used.uncached_input, used.cache_read, written, used.cache_write_1h)
                    priced = card.price_inference(inference, ts_ms=attempt.ts_start_ms)
                    nano = None  # it has no rate row for the model on that day
                    if priced.unpriced_reason is None:
                        nano = sum(line.amount_nano for line in priced.lines if line.bucket != "output")
                    row = {"id": attempt.provider_message_id, "model": inference.pricing.model, "nano": nano}
                    row |= dict(zip(INPUT, counts, strict=True)) | {"output": used.output}
                    row["final"] = inference.usage_source is UsageSource.FINAL
                    row["estimated"] = inference.usage_source is UsageSource.ESTIMATED
                    rows.append(row)
    return rows
