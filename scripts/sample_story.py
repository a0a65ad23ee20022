"""The story of the sample session: what the user asks, what the agent does, what the tools answer.

Everything is invented. Bulky answers (sources, logs, a web page) come from small seeded generators.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

CLEARED = 14  # results that the harness clears, oldest first


@dataclass(frozen=True)
class Ask:
    """A prompt, and how long the user took, in seconds."""

    text: str
    pause: float


@dataclass(frozen=True)
class Step:
    """A response: thinking, text, and calls as (tool, arguments, result)."""

    thinking: str = ""
    text: str = ""
    calls: tuple[tuple[str, dict[str, Any], str], ...] = ()
    cleared: bool = False


NOUNS = ("loan", "copy", "shelf", "branch", "reader", "hold", "fine", "notice", "renewal", "title", "invoice")
VERBS = ("load", "store", "check", "extend", "cancel", "list", "count", "merge", "notify", "archive", "price")


def source(module: str, functions: int) -> str:
    """A made-up Python module as the Read tool shows it."""
    random = Random(module)
    lines = [f'"""{module}: part of the lending desk."""', "", "from __future__ import annotations", ""]
    lines += ["from datetime import date, datetime, timedelta", "", "from app.clock import now", ""]
    for _ in range(functions):
        noun, verb = random.choice(NOUNS), random.choice(VERBS)
        days, limit = random.choice((7, 14, 21, 28)), random.randint(2, 90)
        lines += [
            "",
            f"def {verb}_{noun}(session: Session, {noun}_id: int, *, limit: int = {limit}) -> list[{noun.title()}]:",
            f'    """{verb.title()} each {noun} that is due within {days} days."""',
            f"    due = now().date() + timedelta(days={days})",
            f"    query = session.query({noun.title()}).filter({noun.title()}.due_on <= due)",
            f"    if {noun}_id:",
            f"        query = query.filter({noun.title()}.id == {noun}_id)",
            f"    rows = query.order_by({noun.title()}.due_on, {noun.title()}.id).limit(limit).all()",
            f'    log.info("{verb} {noun}: %d rows up to %s", len(rows), due.isoformat())',
            f"    return [row for row in rows if not row.{random.choice(('locked', 'lost', 'paused'))}]",
            "",
        ]
    return "\n".join(f"{number:6}→{line}" for number, line in enumerate(lines, 1))


def pytest_log(name: str, runs: int, failed: int) -> str:
    """A made-up test log with tracebacks."""
    random = Random(name)
    out = ["============================= test session starts =============================="]
    out += [
        "platform linux -- Python 3.12.4, pytest-8.3.3",
        "rootdir: /home/dev/lending-desk",
        f"collected {runs} items",
        "",
    ]
    failing = set(random.sample(range(runs), failed))
    for run in range(runs):
        test = f"{name}::test_{random.choice(VERBS)}_{random.choice(NOUNS)}[{run}]"
        out.append(f"{test:84} {'FAILED' if run in failing else 'PASSED'} [{100 * (run + 1) // runs:3}%]")
    for run in sorted(failing):
        day = random.randint(10, 27)
        out += [
            f"________________________ test_renewal_extends_due_date[{run}] ________________________",
            "    def test_renewal_extends_due_date(client, loan):",
            '        response = client.post(f"/loans/{loan.id}/renew")',
            "        assert response.status_code == 200",
            ">       assert response.json()['due_on'] == (date.today() + timedelta(days=14)).isoformat()",
            f"E       AssertionError: assert '2026-11-{day + 1}' == '2026-11-{day}'",
            f"tests/test_loans.py:{random.randint(40, 160)}: AssertionError",
            "----------------------------- Captured log call -----------------------------",
            f"INFO app.loans: renew loan {random.randint(1000, 9999)} at 2026-11-{day}T23:{random.randint(10, 59)}:07Z",
        ]
    out.append(f"================== {failed} failed, {runs - failed} passed in {runs * 0.31:.2f}s ==================")
    return "\n".join(out)


def worker_log(lines: int) -> str:
    """Made-up log lines of the reminder worker."""
    random = Random("worker")
    return "\n".join(
        f"worker-1  | 2026-11-16T{22 + i // 160 % 2}:{i % 60:02}:{random.randint(0, 59):02}Z INFO reminders.queue "
        f"{random.choice(VERBS)}_{random.choice(NOUNS)} id={random.randint(10_000, 99_999)} "
        f"due={'2026-11-17' if random.random() < 0.8 else '2026-11-18'} took={random.random():.3f}s"
        for i in range(lines)
    )


def page(paragraphs: int) -> str:
    """A made-up page of documentation about time zones."""
    random = Random("page")
    facts = (
        "A time without a zone is not a moment; it becomes one only together with a place.",
        "Convert to the zone of the reader at the last step, and compare moments in UTC.",
        "The date of a moment depends on the zone: near midnight two places disagree about it.",
        "A test that asks the wall clock twice can see two different days.",
        "Freeze the clock in tests, and close to the edges: midnight, the end of a month, a change of offset.",
        "The zone database changes several times a year; pin it where results must repeat.",
    )
    return "\n\n".join(f"## Section {i + 1}\n" + " ".join(random.choices(facts, k=6)) for i in range(paragraphs))


def edit(path: str, old: str, new: str) -> tuple[str, dict[str, Any], str]:
    """An Edit call and its answer."""
    args = {"file_path": f"/home/dev/lending-desk/{path}", "old_string": old, "new_string": new}
    return "Edit", args, f"The file /home/dev/lending-desk/{path} has been updated."


def read(path: str, functions: int) -> tuple[str, dict[str, Any], str]:
    """A Read call and its answer."""
    return "Read", {"file_path": f"/home/dev/lending-desk/{path}"}, source(path, functions)


def bash(command: str, about: str, result: str) -> tuple[str, dict[str, Any], str]:
    """A Bash call and its answer."""
    return "Bash", {"command": command, "description": about}, result


def grep(pattern: str, hits: int) -> tuple[str, dict[str, Any], str]:
    """A Grep call and its answer."""
    random = Random(pattern)
    found = "\n".join(
        f"app/{random.choice(NOUNS)}s.py:{random.randint(8, 300)}:    due = {pattern}.date() + timedelta(days={i % 28})"
        for i in range(hits)
    )
    return "Grep", {"pattern": pattern, "path": "app", "output_mode": "content"}, found


def todo(*items: str, done: int) -> tuple[str, dict[str, Any], str]:
    """A TodoWrite call and its answer."""
    states = ["completed"] * done + ["in_progress"] + ["pending"] * len(items)
    todos = [{"content": i, "status": s, "activeForm": i} for i, s in zip(items, states, strict=False)]
    return (
        "TodoWrite",
        {"todos": todos},
        "Todos have been modified successfully. Go on with the current task.",
    )


PLAN = (
    "Reproduce the failure",
    "Find where the day comes from",
    "Make one clock",
    "Reminder worker",
    "Regression test",
)
OLD = "    return datetime.now()\n"
NEW = "    return datetime.now(tz=UTC)\n"
SUBTASK = (
    "Look through app/ and scripts/ of /home/dev/lending-desk for every place that reads the wall clock without a "
    "zone. Report file, line and whether the value ends up in a due date. Change nothing."
)

SUBAGENT = (
    Step("I list the candidates first.", "", (grep("datetime.now()", 60), grep("date.today()", 45))),
    Step("", "The hits cluster in five files.", (read("app/reminders.py", 16), read("app/fines.py", 14))),
    Step("", "", (read("app/holds.py", 18), read("scripts/nightly.py", 9))),
    Step(
        "Nightly uses the server's zone.",
        "",
        (bash("git log --oneline -20 -- scripts", "Recent changes", worker_log(24)),),
    ),
    Step("", "", (read("app/notices.py", 15),)),
    Step(
        "",
        "Five places read the clock without a zone. Two reach a due date: app/loans.py:88 (renewal) and "
        "app/reminders.py:41 (which loans are due tomorrow). app/fines.py:63, app/holds.py:120 and "
        "scripts/nightly.py:17 only write log lines.",
    ),
)

STORY: tuple[Ask | Step, ...] = (
    Ask(
        "tests/test_loans.py::test_renewal_extends_due_date fails about one run in five on CI and never here.\n"
        "Find out why and mend it. The public API stays as it is, and a renewal is always 14 days.",
        0,
    ),
    Step(
        "A test that fails only on CI and only sometimes: time, order or shared state. Repeat it first.",
        "I repeat the test until it fails.",
        (
            bash(
                "pytest tests/test_loans.py --count 60 -q",
                "Repeat the flaky test",
                pytest_log("tests/test_loans.py", 60, 6),
            ),
        ),
    ),
    Step(
        "The failures carry times close to midnight UTC.",
        "All failures lie within an hour of midnight. I read the code that makes the date.",
        (read("app/loans.py", 26), read("tests/test_loans.py", 20), read("app/clock.py", 3)),
    ),
    Step("", "", (grep("now()", 48),)),
    Step("", "", (todo(*PLAN, done=1),)),
    Step("The models may hold defaults.", "", (read("app/models.py", 19), read("app/routes.py", 17))),
    Step("", "", (bash("git log -p -3 -- app/clock.py", "How the clock changed", source("app/clock.py@history", 8)),)),
    Step(
        "I should check what the library says about dates near midnight.",
        "",
        (("WebFetch", {"url": "https://docs.example.org/time/zones", "prompt": "date of a moment"}, page(34)),),
    ),
    Step(
        "The test asks date.today(), local; the service asks now() in UTC. Between local and UTC midnight they differ.",
        "The service takes the day in UTC, the test takes the local day. In the hour around midnight they are "
        "different days, which is the one run in five. I would give the service one clock with the branch's zone and "
        "let the test use it. Shall I?",
    ),
    Ask("Yes. First let a subagent check whether other code reads the clock that way.", 95),
    Step("", "", (("Task", {"description": "Find naive clocks", "prompt": SUBTASK}, SUBAGENT[-1].text),)),
    Step("", "", (todo(*PLAN, done=2),)),
    Step("Two places matter. The clock first.", "", (edit("app/clock.py", OLD, NEW),)),
    Step("", "", (edit("app/loans.py", "due = now().date()", "due = today(branch.zone)"),)),
    Step("", "", (bash("pytest tests/test_loans.py -q", "Test loans", pytest_log("tests/test_loans.py#2", 38, 3)),)),
    Step(
        "Three fail now, always the same: the fixture freezes a naive time.",
        "The fixture freezes a time without a zone; I look at it.",
        (read("tests/conftest.py", 11), read("tests/factories.py", 13)),
    ),
    Step("", "", (edit("tests/conftest.py", 'freeze("2026-11-03 23:30")', 'freeze("2026-11-03T23:30:00+00:00")'),)),
    Step(
        "",
        "",
        (bash("pytest tests/test_loans.py --count 60 -q", "Repeat", pytest_log("tests/test_loans.py#3", 60, 0)),),
    ),
    Step("", "Sixty runs, no failure. The renewal is mended. The reminder worker has the same fault; shall I go on?"),
    Ask("Sorry, that was a long meeting. Yes, the reminders too; readers complained about mails a day late.", 1320),
    Step("", "", (read("app/reminders.py", 24), read("tests/test_reminders.py", 16))),
    Step(
        "",
        "",
        (bash("docker compose logs worker --since 12h", "What the worker did last night", worker_log(190)),),
    ),
    Step(
        "Jobs after 23:00 UTC take the next day. Same cause.",
        "The worker's log shows it: after 23:00 UTC the due date jumps by one.",
        (grep("tomorrow()", 22),),
    ),
    Step("", "", (edit("app/reminders.py", "tomorrow = now().date()", "tomorrow = today(branch.zone)"),)),
    Step(
        "",
        "",
        (bash("pytest tests/test_reminders.py -q", "Test reminders", pytest_log("tests/test_reminders.py", 44, 2)),),
    ),
    Step("", "", (read("app/worker.py", 18),)),
    Step("The worker caches the day at start.", "", (edit("app/worker.py", "DAY = tomorrow()", "day = tomorrow()"),)),
    Step("", "", (bash("pytest -q", "All tests", pytest_log("tests", 120, 1)),)),
    Step(
        "One fails in loans; I no longer have that file before me, so I read it again.",
        "",
        (read("app/loans.py", 26),),
        cleared=True,
    ),
    Step("", "", (edit("app/loans.py", "def renew_loan(session", "def renew_loan(session, branch"),)),
    Step("", "", (bash("pytest -q", "All tests", pytest_log("tests#2", 120, 0)),)),
    Step("", "", (todo(*PLAN, done=4),)),
    Step("", "", (bash("pytest tests --count 5 -q", "Five rounds", pytest_log("tests#3", 150, 0)),)),
    Step("", "Five rounds of everything pass. Both faults had one cause: the day was taken without a zone."),
    Ask("Good. Add a regression test for the hour before midnight and a line in the changelog.", 140),
    Step("", "", (("Read", {"file_path": "/home/dev/lending-desk/CHANGELOG.md"}, page(9)),)),
    Step("", "", (edit("CHANGELOG.md", "## Unreleased", "## Unreleased\n- Due dates use the branch's zone."),)),
    Step(
        "",
        "",
        (
            (
                "Write",
                {
                    "file_path": "/home/dev/lending-desk/tests/test_midnight.py",
                    "content": source("tests/test_midnight.py", 4),
                },
                "File created successfully at: /home/dev/lending-desk/tests/test_midnight.py",
            ),
        ),
    ),
    Step("", "", (bash("pytest tests/test_midnight.py -q", "New test", pytest_log("tests/test_midnight.py", 12, 1)),)),
    Step("The zone of the fixture is missing.", "", (edit("tests/test_midnight.py", "freeze(t)", "freeze(t, zone)"),)),
    Step("", "", (bash("pytest -q", "All tests", pytest_log("tests#4", 132, 0)),)),
    Step("", "", (bash("git diff --stat", "What changed", " app/clock.py | 4 ++--\n app/loans.py | 9 +++++----"),)),
    Step("", "", (todo(*PLAN, done=5),)),
    Step("", "Done: one clock, two callers mended, a test for the hour before midnight, a line in the changelog."),
)
