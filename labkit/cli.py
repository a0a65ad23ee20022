"""The command line: tables for people, one JSON object for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import Console

from labkit.errors import LabError
from labkit.ladder.policy import load_policy
from labkit.price.cache import ARTICLE_RULES, CacheRules, cache_rules
from labkit.price.prices import prices
from labkit.record.load import load
from labkit.replay.audit import audit
from labkit.replay.compare import compare
from labkit.show import report

__all__ = ["app", "main"]

app = typer.Typer(
    name="labkit",
    help="Measure what a long-running agent keeps in its context.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
)

Given = Annotated[
    str, typer.Argument(metavar="PATH", help="A session or a scripted run: a file, or a folder with one session.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]


@app.command("replay")
def replay_command(
    path: Given,
    policy: Annotated[str, typer.Option(help="A preset (article, default, none) or a JSON file.")] = "default",
    model: Annotated[str, typer.Option(help="The model whose prices and cache rules hold.")] = "article",
    as_json: AsJson = False,
) -> None:
    """Replay a scripted run without and with a policy, and say what it saves and loses."""
    rules: CacheRules = ARTICLE_RULES if model == "article" else cache_rules(model)
    comparison = compare(load(path), load_policy(policy), rules, prices(model))
    if as_json:
        _print_json(comparison.to_json())
    else:
        _print(report.replay_report(comparison))


@app.command("audit")
def audit_command(path: Given, as_json: AsJson = False) -> None:
    """Say where the tokens of a run went, by line item; nothing leaves the machine."""
    result = audit(load(path))
    if as_json:
        _print_json(result.to_json())
    else:
        _print(report.audit_report(result))


@app.command("doctor")
def doctor_command(
    paste: Annotated[bool, typer.Option("--paste", help="Print one line to send to a facilitator.")] = False,
) -> None:
    """Say what is installed, whether widgets will show, which counter is in use, and how to mend what is wrong."""
    from labkit import doctor

    if paste:
        print(doctor.paste())
        return
    found = doctor.checks()
    _print(report.doctor_report(found))
    if not all(check.ok for check in found):
        raise typer.Exit(1)


def _print(renderable: Any) -> None:
    # A pipe has no width of its own; without one rich would fold tables at 80 columns.
    console = Console(width=None if sys.stdout.isatty() else 100, highlight=False)
    console.print(renderable)


def _print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace").decode("utf-8"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Returns
    -------
    int
        0; 1 if the doctor found something to mend; 2 for bad input, of which one sentence on the
        standard error stream says what was given, what is allowed and the nearest fix.
    """
    try:
        status = app(args=None if arguments is None else list(arguments), standalone_mode=False)
        return int(status or 0)
    except LabError as error:
        return _complain(str(error))
    except typer.Exit as leaving:
        return int(leaving.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        return 130
    except BrokenPipeError:  # the reader of a pipe, such as head, has gone
        sys.stderr.close()
        return 0
    except OSError as error:
        file = error.filename or "a file"
        return _complain(f"{file} cannot be used ({error.strerror}): check the path and its permissions")
    except Exception as error:
        # Typer's own complaints about arguments; which class they have depends on its version.
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        return _complain(f"{message()} See 'labkit --help'.")


def _complain(sentence: str) -> int:
    print(f"labkit: {' '.join(sentence.split())}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
