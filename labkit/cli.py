"""The command line: tables for people, one JSON object for programs."""

from __future__ import annotations

import errno
import io
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from labkit.errors import InputError, LabError
from labkit.files import atomic_write
from labkit.ladder.presets import load_policy
from labkit.price.cache import ARTICLE_RULES, CacheRules, cache_rules
from labkit.price.prices import prices
from labkit.record.load import load
from labkit.record.sizes import Sizes
from labkit.record.trace import Trace
from labkit.replay.advice import advise, offers
from labkit.replay.audit import audit
from labkit.replay.compare import compare
from labkit.replay.replay import replay
from labkit.replay.sessions import Compared, found_sessions, list_sessions, newest_session, sessions_in
from labkit.replay.whatif import whatif
from labkit.show import report

__all__ = ["app", "main"]

app = typer.Typer(
    name="labkit",
    help="Measure what a long-running agent keeps in its context.",
    add_completion=False,
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
def audit_command(
    path: Annotated[
        str | None,
        typer.Argument(metavar="[PATH]", help="A session or a run; default: the newest session of this machine."),
    ] = None,
    as_json: AsJson = False,
    everything: Annotated[bool, typer.Option("--all", help="A row a session, by dollars.")] = False,
    full: Annotated[bool, typer.Option("--full", help="All line items, usages and notes.")] = False,
    html: Annotated[str | None, typer.Option("--html", metavar="FILE", help="Write a page to keep.")] = None,
) -> None:
    """Say what a session cost and why it was written again; nothing leaves the machine."""
    from labkit.show import page, session_report

    if everything:
        if html is not None or full:
            raise InputError("--all lists sessions: give it alone, with --json or with a folder")
        _list(path, as_json)
        return
    if path is None:
        path = str(newest_session())
        print(f"newest session: {path}", file=sys.stderr)
    trace = _load(path)
    if not trace.requests and not trace.children:
        raise InputError(f"{path} holds no request to a model: there is nothing to audit; give another session")
    result = audit(trace)
    if html is not None:
        atomic_write(Path(html).expanduser(), page.page(result, advise(result)))
        print(f"wrote {html}", file=sys.stderr)
    if as_json:
        _print_json({**result.to_json(), "advice": advise(result).to_json()})
    elif html is None and (full or result.trace.kind == "scripted"):
        _print(report.audit_report(result))
    elif html is None:
        _lines(session_report.first_screen(result, advise(result), path))


def _list(folder: str | None, as_json: bool) -> None:
    from labkit.show import session_report

    found = found_sessions() if folder is None else sessions_in(folder)
    # The newest stands first; what a resumed copy repeats counts where it was spent.
    listed = sorted(list_sessions(found[::-1]), key=lambda row: (row.dollars is None, -(row.dollars or 0.0)))
    if as_json:
        _print_json({"sessions": [row.to_json() for row in listed]})
    else:
        _lines(session_report.list_lines(listed))


@app.command("compare")
def compare_command(
    before: Annotated[str, typer.Argument(metavar="BEFORE", help="A session.")],
    after: Annotated[str, typer.Argument(metavar="AFTER", help="A session after a change.")],
    as_json: AsJson = False,
) -> None:
    """Set two sessions side by side, request for request."""
    from labkit.show import session_report

    both = Compared(audit(_load(before)), audit(_load(after)))
    if as_json:
        _print_json(both.to_json())
    else:
        _lines(session_report.comparison_lines(both))


@app.command("whatif")
def whatif_command(
    path: Given,
    policy: Annotated[str | None, typer.Option(help="A preset (article, default, none) or a JSON file.")] = None,
    lifetime: Annotated[str | None, typer.Option(help="Of cache entries: 5m or 1h; default: as recorded.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say what a recorded session would have cost under a policy or another cache lifetime.

    Without either it tries what the session's harness can set, and a few things that need another harness.
    """
    from labkit.show import session_report

    if lifetime not in (None, "5m", "1h"):
        raise InputError(f"--lifetime is {lifetime!r}: give 5m or 1h")
    trace = _load(path)
    if policy is None and lifetime is None:
        result = audit(trace)
        made = offers(result)
        if as_json:
            _print_json({"trace": trace.name, "offers": [offer.to_json() for offer in made]})
        else:
            _lines(session_report.offer_lines(made, result.format))
        return
    asked = load_policy(policy or "none")
    answer = whatif(trace, asked, lifetime=lifetime)  # type: ignore[arg-type]
    if as_json:
        _print_json(answer.to_json())
    else:
        from labkit.ladder.export_settings import settings

        wanted = settings(replace(asked, lifetime=answer.lifetime), trace.source.partition(":")[0])
        _lines(session_report.whatif_lines(answer, wanted))


@app.command("sweep")
def sweep_command(
    path: Given,
    axes: Annotated[
        str, typer.Option("--grid", metavar="FILE", help='JSON such as {"trigger": [20000, 30000], "keep": [1, 3]}.')
    ],
    out: Annotated[str | None, typer.Option("--out", metavar="FILE", help="Write all rows as CSV or Parquet.")] = None,
    resume: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Keep finished parts; the same command goes on from them.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Replay a run, or a folder of sessions, under every combination of a grid, and say what is worth choosing."""
    from labkit.show.sweep_report import swept

    result = swept(path, axes, out, resume)
    if as_json:
        _print_json(result.to_json())
    else:
        _lines(result.lines())


@app.command("bench1")
def bench1_command(
    seeds: Annotated[int, typer.Option(help="Services and agents to run, from seed 0.")] = 20,
    curve: Annotated[str | None, typer.Option(help="A recall curve by name; default: perfect recall.")] = None,
    occupied: Annotated[
        str | None, typer.Option(metavar="LIST", help="Tokens there before, such as 0,16000: where do fewer pass?")
    ] = None,
    live: Annotated[str | None, typer.Option(metavar="MODEL", help="Let a real model do it; this costs money.")] = None,
    api: Annotated[str | None, typer.Option(help="Live: anthropic, responses or chat; default: the model's.")] = None,
    base_url: Annotated[str | None, typer.Option(help="Live: of a server that speaks the interface.")] = None,
    out: Annotated[str | None, typer.Option(help="Live: folder of the sessions; default: bench1-live.")] = None,
    spend: Annotated[float | None, typer.Option(help="Live: dollars that folder may cost; default: 5.")] = None,
    configurations: Annotated[str | None, typer.Option(help="Live: of unbounded,budgeted,server.")] = None,
    prices: Annotated[str | None, typer.Option(help="Live: INPUT,OUTPUT in dollars per million tokens.")] = None,
    as_json: AsJson = False,
) -> None:
    """Migrate a generated service with an unbounded and with a budgeted context; simulated, or by a real model.

    The simulated agent is no model. A live run needs a key in ANTHROPIC_API_KEY or OPENAI_API_KEY, or a --base-url;
    the same command goes on where it was cut off.
    """
    from labkit.bench1.live_table import live_or_simulated

    options = {"--api": api, "--base-url": base_url, "--out": out, "--spend": spend}
    options |= {"--configurations": configurations, "--prices": prices}
    made = live_or_simulated(live, seeds, curve, occupied, options, lambda line: print(line, file=sys.stderr))
    if as_json:
        _print_json(made.to_json())
    else:
        _lines(made.lines())


@app.command("handoff")
def handoff_command(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH", help="A session or a run; with --diff two, or records.")
    ],
    at: Annotated[int | None, typer.Option(metavar="N", help="After this request; default: the last.")] = None,
    out: Annotated[str | None, typer.Option(metavar="FILE", help="Write the record; what FILE holds is kept.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print it as a text; this is the default.")] = False,
    as_json: AsJson = False,
    diff: Annotated[bool, typer.Option("--diff", help="Say what differs between the records of two.")] = False,
) -> None:
    """Write the record that a fresh context can start from: decisions, steps with evidence, what is open."""
    from labkit.handoff.command import handoff

    if markdown and as_json:
        raise InputError("--markdown and --json are given: give one of them")
    made = handoff(paths, diff, at, out)
    for sentence in made.notes:
        print(sentence, file=sys.stderr)
    if as_json:
        _print_json(made.to_json())
    elif out is None or markdown:
        _lines(made.lines())


@app.command("export")
def export_command(
    policy: Annotated[str, typer.Argument(metavar="POLICY", help="A preset or a JSON file.")],
    target: Annotated[
        str, typer.Option("--to", help="anthropic, openai, langchain, pydantic-ai, a harness, or its preset.")
    ],
    model: Annotated[str | None, typer.Option(help="If it refuses client edits, the server's form is written.")] = None,
) -> None:
    """Write a policy in a harness's own words, and say what it cannot say."""
    from labkit.ladder.export import export

    made = export(load_policy(policy), target, model=model)
    print(made.text, end="" if made.text.endswith("\n") else "\n")
    for header in made.headers:
        print(f"beta header: {header}", file=sys.stderr)
    for sentence in made.missing:
        print(f"not said: {sentence}", file=sys.stderr)


@app.command("redact")
def redact_command(
    path: Given,
    out: Annotated[str, typer.Argument(metavar="OUT", help="Where the copy goes; it must not exist.")],
) -> None:
    """Copy a session with pseudonyms for its words, and print what was kept; sizes and bills stay equal."""
    from labkit.record.redact import redact

    done = redact(path, out, also=REHEARSED)
    for file in done.files:
        print(f"wrote {file}")
    print(
        f"kept as they are: {len(done.ids)} ids and times, the numbers of the format, and these {len(done.kept)} words:"
    )
    print(" ".join(json.dumps(word, ensure_ascii=False) if " " in word else word for word in done.kept))
    for sentence in done.differs:
        print(f"differs: {sentence}", file=sys.stderr)
    print("Equal words have equal pseudonyms, so common ones can be guessed: read the copy before you send it.")


def _rehearsed(name: str) -> Callable[[Trace, Sizes], object]:
    def rows(trace: Trace, sizes: Sizes) -> object:
        if trace.kind != "scripted":
            return None
        return [row.without_found() for row in replay(trace, load_policy(name), sizes=sizes).rows]

    return rows


REHEARSED = tuple(map(_rehearsed, ("article", "default")))
"""Replays that a redacted run must give like its original, but for what is found in the words themselves."""


@app.command("formats")
def formats_command() -> None:
    """List the kinds of sessions that are read, each recognised by its content."""
    from labkit.record.load import formats

    for module in formats():
        about = (module.__doc__ or "").strip().splitlines()[0].replace("``", "")
        print(f"{module.NAME}: {about}")


@app.command("progress")
def progress_command(
    notebook: Annotated[str | None, typer.Argument(metavar="[NOTEBOOK]", help="For example 03; default: all.")] = None,
    collect: Annotated[
        str | None,
        typer.Option("--collect", metavar="FOLDER", help="Pool a room's ranges, as dot plots without names."),
    ] = None,
    share: Annotated[
        str | None,
        typer.Option("--share", metavar="FOLDER", help="Put your ranges there, under a name made of chance."),
    ] = None,
    html: Annotated[str | None, typer.Option("--html", metavar="FILE", help="Write the pool as a page.")] = None,
    reset: Annotated[bool, typer.Option("--reset", help="Forget the notebook, or everything.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say what was solved and how often your ranges held; or pool a room's ranges."""
    from labkit.course import memory, room
    from labkit.course.progress import progress

    if sum([collect is not None, share is not None, reset]) > 1 or (notebook and (collect or share)):
        raise InputError("give one of NOTEBOOK, --collect, --share; --reset goes alone or with a notebook")
    if html is not None and collect is None:
        raise InputError("--html writes what --collect FOLDER pools: give both")
    if collect is not None:
        pool = room.collect(collect)
        if html is not None:
            from labkit.course.room_page import page

            atomic_write(Path(html).expanduser(), page(pool))
            print(f"wrote {html}", file=sys.stderr)
        if as_json:
            _print_json(pool.to_json())
        else:
            _lines(pool.lines())
    elif share is not None:
        print(f"wrote {room.share(share)}")
    elif as_json:
        _print_json(memory.recall())
    else:
        progress(notebook, reset=reset)


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


def _load(path: str) -> Trace:
    """Load a session; one that takes seconds shows how far it is, where a person looks on."""
    if not sys.stderr.isatty():
        return load(path)
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)
        return load(path, lambda done, size: bar.update(task, completed=done, total=size))


def _print(renderable: Any) -> None:
    # A pipe has no width of its own; without one rich would fold tables at 80 columns.
    console = Console(width=None if sys.stdout.isatty() else 100, highlight=False)
    console.print(renderable)


def _lines(lines: Sequence[str]) -> None:
    console = Console(highlight=False)
    for line in lines:
        console.print(Text(line), soft_wrap=True)


def _print_json(value: Any) -> None:
    # Outside UTF-8, as in a pipe on Windows, only escapes hold every text.
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    print(json.dumps(value, ensure_ascii=not utf8, allow_nan=False).encode("utf-8", "replace").decode("utf-8"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Returns
    -------
    int
        0; 1 if the doctor found something to mend; 2 for bad input, of which one sentence on the
        standard error stream says what was given, what is allowed and the nearest fix.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a session may hold any character, a pipe on Windows may not
            stream.reconfigure(errors="replace")
    try:
        status = app(args=arguments or ["--help"], standalone_mode=False)
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
        if error.errno == errno.ENOSPC:
            return _complain(f"{file} cannot be written, the disk is full: free some space, or give another place")
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
