"""Many ways to write a migration: those that mean the same pass, those that do not are refused, and say why."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from labkit.bench1.checker import Verdict, verify
from labkit.bench1.migrate import migration
from labkit.bench1.service import Site, service

MADE = service(3)
SITES: dict[str, Site] = {site.shape: site for site in MADE.sites}
NOUN = {shape: site.path.split("/")[1].removesuffix(".test.ts") for shape, site in SITES.items()}


def migrated() -> dict[str, str]:
    files = dict(MADE.files)
    for site in MADE.sites:
        files[site.path] = files[site.path].replace(*(migration(files[site.path]) or ("", "")))
    return files


def judged(shape: str, code: str, more: dict[str, str] | None = None) -> Verdict:
    """The verdict on a whole migration in which one site's code is this; NOUN stands for its table, NAME for it."""
    noun, path = NOUN[shape], SITES[shape].path
    before = MADE.files[path]
    code = code.replace("NOUN", noun).replace("NAME", noun.capitalize())
    return verify(MADE, {**migrated(), path: code + before[before.index("\n// ") :], **(more or {})})


def _read() -> dict[str, dict[str, list[str]]]:
    """By verdict and name: the shape, what the reason must say, and the code."""
    found: dict[str, dict[str, list[str]]] = {"right": {}, "wrong": {}, "left": {}}
    text = Path(__file__).with_name("styles.txt").read_text(encoding="utf-8")
    for part in text.split("\n=== ")[1:]:
        head, code = part.split("\n", 1)
        verdict, shape, name, *why = head.split(" | ")
        assert name not in found[verdict], name
        found[verdict][name] = [shape, "".join(why), code.rstrip() + "\n"]
    return found


STYLES = _read()
RIGHT, WRONG, LEFT = (STYLES[verdict] for verdict in ("right", "wrong", "left"))
PLAIN = RIGHT["text and values hoisted"][2]


@pytest.mark.parametrize("name", RIGHT)
def test_right_in_another_style(name: str) -> None:
    shape, _, code = RIGHT[name]
    assert judged(shape, code) == Verdict()


def test_a_helper_in_a_file_of_its_own() -> None:
    code = PLAIN.replace('{ db } from "../db"', '{ ask } from "../ask"').replace(
        "db.query(sql, values)", "ask(sql, id)"
    )
    ask = 'import { db } from "./db";\nexport const ask = (sql: string, ...values: any[]) => db.query(sql, values);\n'
    assert judged("plain", code, {"src/ask.ts": ask}) == Verdict()
    assert not judged("plain", code).passed
    raw = judged("plain", code, {"src/ask.ts": ask.replace("query(sql, values)", "queryRaw(sql)")})
    assert raw.missed == (SITES["plain"].path,)
    assert ("src/ask.ts", "queryRaw is used where it was not") in raw.wrong


@pytest.mark.parametrize("name", WRONG)
def test_wrong_and_why(name: str) -> None:
    shape, why, code = WRONG[name]
    verdict = judged(shape, code)
    assert [path for path, _ in verdict.wrong] == [SITES[shape].path], verdict
    assert verdict.missed == ()
    assert re.search(why, verdict.wrong[0][1])


@pytest.mark.parametrize("name", LEFT)
def test_still_raw_is_missed(name: str) -> None:
    verdict = judged("plain", LEFT[name][2])
    assert (verdict.missed, verdict.wrong) == ((SITES["plain"].path,), ())


def test_what_has_nothing_to_do_with_the_queries_stays() -> None:
    files, path = migrated(), SITES["plain"].path
    other = next(p for p in files if p.endswith("part0.ts"))
    notes = next(p for p in files if p.endswith("notes.ts"))
    db = files["src/db.ts"]
    assert verify(MADE, files) == Verdict()
    assert verify(MADE, {**files, other: "// said more\n" + files[other].replace("  ", "    ")}) == Verdict()
    assert verify(MADE, {**files, notes: files[notes].replace("queryRaw()", "query()")}) == Verdict()
    assert verify(MADE, {**files, path: files[path].replace("amount: number, ", "amount: number,  ")}) == Verdict()
    cut = files[path][: files[path].rindex("export function")]
    wrong = {
        "its other functions cut off": {path: cut},
        "another function changed": {path: files[path].replace("return whole + ", "return whole - ", 1)},
        "another function no longer exported": {path: files[path].replace("export function", "function", 1)},
        "another file emptied": {other: ""},
        "another file changed": {other: files[other].replace("return whole + ", "return whole - ", 1)},
        "another file that does not parse": {other: files[other] + "}"},
        "a raw call in another file": {other: files[other] + 'export const ask = (db) => db["queryRaw"];\n'},
        "a method replaced in a new file": {
            "src/fast.ts": 'import { db } from "./db";\n(db as any).query = async () => [];\n'
        },
        "nested too deep": {other: files[other] + "export const deep = " + "(" * 3_000 + "1" + ")" * 3_000 + ";\n"},
        "half a character": {path: files[path].replace("$1", "$1 \ud800")},
        "a new file that does not parse": {"src/new.ts": "export const = 1;"},
        "raw deleted from the module": {
            "src/db.ts": db[: db.index("  async queryRaw")] + db[db.index("  async query(") :]
        },
        "the module's query made raw": {"src/db.ts": db.replace("send(sql, values)", "send(sql, [])")},
    }
    for name, change in wrong.items():
        verdict = verify(MADE, {**files, **change})
        assert [p for p, _ in verdict.wrong] == list(change), name
    for gone in (path, other, "src/db.ts"):
        kept = {p: t for p, t in files.items() if p != gone}
        assert verify(MADE, kept).wrong == ((gone, "the file is gone"),)
        moved = {**kept, "src/moved.ts": files[gone]}
        assert (gone, "the file is gone") in verify(MADE, moved).wrong
