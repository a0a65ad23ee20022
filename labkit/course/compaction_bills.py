"""What handling a compaction block costs a client: the real SDK against the local server, or what it gave on file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from labkit.course.local_api import ON_DEMAND, THRESHOLD, serving
from labkit.files import load_data
from labkit.price.prices import Prices, prices
from labkit.record.trace import Usage

__all__ = ["WAYS", "Way", "bills"]

MODEL = "claude-sonnet-4-6"
_TRIGGER, _LONG, _NEW, _SUMMARY, _AGAIN = 50_000, 50_200, 1_000, 1_500, 5


@dataclass(frozen=True)
class Way:
    """One way to handle a compaction block, over a few requests.

    Parameters
    ----------
    name : str
    compactions : int
        Summaries that were made and billed.
    last : int
        Tokens of the last prompt that was answered.
    read, written, output : int
        Tokens billed in all.
    refused : str
        What the server said where it refused; empty if it did not.
    """

    name: str
    compactions: int
    last: int
    read: int
    written: int
    output: int
    refused: str = ""

    def dollars(self, card: Prices | None = None) -> float:
        """What it is billed.

        Parameters
        ----------
        card : Prices, optional
            Default: those of the model that was asked.
        """
        card = card or prices(MODEL)
        return card.cost(read=self.read, write_5m=self.written, output=self.output)


def bills(*, live: bool | None = None) -> tuple[tuple[Way, ...], str]:
    """All of :data:`WAYS`, played by the anthropic SDK against the local server.

    Parameters
    ----------
    live : bool, optional
        Whether to play them; default: if the SDK is installed. Otherwise ``results/compaction_blocks.json`` is read.

    Returns
    -------
    ways : tuple of Way
    source : str
        Which of the two it was.
    """
    if live is None:
        live = _installed()
    if not live:
        kept = load_data("results/compaction_blocks.json")
        return tuple(Way(**way) for way in kept["ways"]), "kept on file: the extra live is not installed"
    return tuple(_play(name, way) for name, way in WAYS.items()), "the anthropic SDK, against the local server"


def _installed() -> bool:
    try:
        import anthropic  # noqa: F401
    except ImportError:
        return False
    return True


def _user(words: int) -> dict[str, Any]:
    return {"role": "user", "content": " row" * words}


def _history() -> list[dict[str, Any]]:
    return [_user(_LONG - _NEW), {"role": "assistant", "content": "ok"}]


Ask = Callable[..., Any]


def _whole(ask: Ask, response: Any, messages: list[Any]) -> list[Any]:
    return [*messages, {"role": "assistant", "content": response.model_dump(exclude_none=True)["content"]}]


def _text(ask: Ask, response: Any, messages: list[Any]) -> list[Any]:
    text = "".join(part.text for part in response.content if part.type == "text")
    return [*messages, {"role": "assistant", "content": text}]


def _at_threshold(append: Callable[..., list[Any]]) -> Callable[[Ask], None]:
    def way(ask: Ask) -> None:
        edits = {"edits": [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": _TRIGGER}}]}
        messages = _history()
        for _ in range(_AGAIN + 1):
            messages.append(_user(_NEW))
            messages = append(ask, ask(messages, THRESHOLD, context_management=edits), messages)

    return way


def _on_demand(place: Callable[[list[Any], dict[str, Any]], list[Any]]) -> Callable[[Ask], None]:
    def way(ask: Ask) -> None:
        messages = [*_history(), _user(_NEW)]
        messages = _whole(ask, ask(messages, ON_DEMAND), messages)
        made = ask(messages, ON_DEMAND, compaction={"type": "summarize"})
        block = {"role": "assistant", "content": made.model_dump(exclude_none=True)["content"]}
        messages = place(messages, block)
        for _ in range(_AGAIN):
            messages.append(_user(_NEW))
            messages = _whole(ask, ask(messages, ON_DEMAND), messages)

    return way


WAYS: dict[str, Callable[[Ask], None]] = {
    "threshold: the answer appended whole": _at_threshold(_whole),
    "threshold: only its text appended": _at_threshold(_text),
    "on demand: in place of the messages": _on_demand(lambda messages, block: [block]),
    "on demand: in front of the messages": _on_demand(lambda messages, block: [block, *messages]),
    "on demand: appended to the messages": _on_demand(lambda messages, block: [*messages, block]),
}
"""By name, what a client does with the block."""


def _play(name: str, way: Callable[[Ask], None]) -> Way:
    import anthropic

    passes: list[tuple[str, Usage]] = []
    refused = ""
    with serving(summary=" fact" * _SUMMARY) as api:
        client = anthropic.Anthropic(base_url=api.url, api_key="none", max_retries=0)

        def ask(messages: list[Any], beta: str, **more: Any) -> Any:
            made = client.beta.messages.create(model=MODEL, max_tokens=4_000, messages=messages, betas=[beta], **more)
            for one in made.usage.iterations or ():
                usage = Usage(
                    uncached=one.input_tokens,
                    cache_read=one.cache_read_input_tokens,
                    cache_write_5m=one.cache_creation_input_tokens,
                    output=one.output_tokens,
                )
                passes.append((one.type, usage))
            return made

        try:
            way(ask)
        except anthropic.BadRequestError as error:
            refused = str(error.body["error"]["message"]) if isinstance(error.body, dict) else str(error)
        finally:
            client.close()
    sent = [usage for kind, usage in passes if kind == "message"]
    return Way(
        name,
        sum(kind == "compaction" for kind, _ in passes),
        sent[-1].total_input if sent else 0,
        sum(usage.cache_read for _, usage in passes),
        sum(usage.cache_write_5m for _, usage in passes),
        sum(usage.output for _, usage in passes),
        refused,
    )


def kept() -> dict[str, Any]:
    """What belongs into ``data/results/compaction_blocks.json``."""
    ways, source = bills(live=True)
    return {"as_of": "2026-12-01", "source": source, "model": MODEL, "ways": [asdict(way) for way in ways]}
