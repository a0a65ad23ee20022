"""The checker tests what a query means: wrong migrations it refuses, right ones in other styles it accepts."""

from __future__ import annotations

import pytest

from labkit.bench1.checker import verify
from labkit.bench1.migrate import migration
from labkit.bench1.script import NotUnderstood, Script
from labkit.bench1.service import Service, Site, service
from labkit.bench1.sql import meaning
from labkit.bench1.tools import Tools

MADE = service(3)


def migrated(made: Service = MADE) -> dict[str, str]:
    files = dict(made.files)
    for site in made.sites:
        edit = migration(files[site.path])
        assert edit is not None
        assert files[site.path].count(edit[0]) == 1
        files[site.path] = files[site.path].replace(*edit)
    return files


def at(shape: str, made: Service = MADE) -> Site:
    return next(site for site in made.sites if site.shape == shape)


def changed(shape: str, old: str, new: str) -> dict[str, str]:
    files, path = migrated(), at(shape).path
    assert old in files[path], files[path][:600]
    files[path] = files[path].replace(old, new)
    return files


def test_the_service_is_forty_files_with_seven_sites_of_seven_shapes() -> None:
    for seed in range(5):
        made = service(seed)
        assert len(made.files) == 40
        assert len({site.shape for site in made.sites}) == len(made.sites) == 7
        hits = [p for p, text in made.files.items() if "queryRaw" in text]
        assert len(hits) == 7 + 1 + 3  # the database module, and three comments
    assert service(1).files != service(2).files


@pytest.mark.parametrize("seed", range(5))
def test_a_whole_migration_passes_and_none_misses_seven(seed: int) -> None:
    made = service(seed)
    assert verify(made, migrated(made)).passed
    assert set(verify(made, made.files).missed) == {site.path for site in made.sites}


NOUN = at("plain").path.split("/")[1]
WRONG = {
    "wrong parameter order": ("several lines", "[owner, state, least]", "[state, owner, least]"),
    "interpolation kept": ("plain", "id = $1`, [id]", "id = ${id}`, []"),
    "interpolation kept beside a value": ("another name", "$1", "'${owner}'"),
    "a value left out": ("several lines", ", least]", "]"),
    "placeholder in quotes": ("taken out", "owner = $2", "owner = '$2'"),
    "the percent signs lost": ("pattern", "`%${term}%`", "term"),
    "another table": ("plain", f"FROM {NOUN}", "FROM users"),
    "a condition dropped": ("several lines", "AND amount >= $3", ""),
    "a test deleted": ("test", 'test("finds', 'test("looks for'),
    "an expectation deleted": ("test", "expect(rows.length).toBe(1);", "// expect(rows.length).toBe(1);"),
    "a constant in the text": ("test", "$1", "${id}"),
    "the function renamed": ("plain", "export async function find", "export async function load"),
    "it does not parse": ("plain", "return db.query(", "return db.query(("),
    "raw by another spelling": ("plain", "db.query(", 'db["query" + "Raw"]('),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_migration_is_refused(name: str) -> None:
    shape, old, new = WRONG[name]
    verdict = verify(MADE, changed(shape, old, new))
    assert [path for path, _ in verdict.wrong] == [at(shape).path]
    assert verdict.missed == ()


def test_a_site_left_and_a_comment_changed_are_missed() -> None:
    files, site = migrated(), at("plain")
    for text in (MADE.files[site.path], "// now db.query()\n" + MADE.files[site.path]):
        files[site.path] = text
        assert verify(MADE, files).missed == (site.path,)


def test_a_changed_database_module_a_lost_file_and_a_new_raw_call_are_wrong() -> None:
    files = migrated()
    assert verify(MADE, {**files, "src/db.ts": files["src/db.ts"] + "\nexport const x = 1;\n"}).wrong
    assert verify(MADE, {p: t for p, t in files.items() if p != "src/db.ts"}).wrong
    assert verify(MADE, {**files, "src/new.ts": "db.queryRaw('x');"}).wrong
    assert verify(MADE, {**files, "src/new.ts": "// db.queryRaw('x');"}).passed


RIGHT = {
    "numbers in another order": (
        "another name",
        "owner = $1 WHERE id = $2`, [owner, id]",
        "owner = $2 WHERE id = $1`, [id, owner]",
    ),
    "text in a constant": (
        "plain",
        f"return db.query(`SELECT * FROM {NOUN} WHERE id = $1`, [id]);",
        f"const text = 'SELECT * FROM {NOUN} ' + 'WHERE id = $1';\n  return await db.query(text, [id]);",
    ),
    "other white space and case": ("several lines", "SELECT id, owner\n    FROM", "select id ,owner from"),
    "joined pattern": ("pattern", "`%${term}%`", '"%" + term + "%"'),
    "under another name": (
        "taken out",
        "const { query } = db;\n  return query(",
        "const { query: ask } = db;\n  return ask(",
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_migration_in_another_style_is_accepted(name: str) -> None:
    assert verify(MADE, changed(*RIGHT[name])).wrong == ()
    assert verify(MADE, changed(*RIGHT[name])).passed


def test_meaning_by_hand() -> None:
    words = (("word", "WHERE"), ("word", "ID"), ("word", "="), 7)
    assert meaning(("query", "where id=$1;", (7,))) == words
    assert meaning(("query", "WHERE id = '7'", ())) != words  # a text is no number
    for sql, values in (("id = $2", (7,)), ("id = $1", (7, 8)), ("id = 'x", ())):
        with pytest.raises(NotUnderstood):
            meaning(("query", sql, values))


def test_a_script_follows_conditions_and_refuses_loops() -> None:
    text = "function f(a) { if (a === 1) { return db.query('one', []); } else { return db.query('other', []); } }"
    assert [Script(text).run("f", (n,))[0][1] for n in (1, 2)] == ["one", "other"]
    with pytest.raises(NotUnderstood, match="for_statement"):
        Script("function f() { for (;;) { } }").run("f", ())


def test_tools_stay_in_their_folder_and_answer_errors(tmp_path: object) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path)) / "in"
    (folder.parent / "secret.ts").write_text("SECRET")
    tools = Tools(MADE.write(folder))
    assert "outside" in tools.call("read", path="../secret.ts")
    assert tools.call("edit", path="src/db.ts", old="await", new="x").startswith("Error: the old text stands 0 times")
    assert tools.call("remove", path="src/db.ts").startswith("Error: there is no tool")
    assert tools.call("edit", path="src/db.ts", old="async query(", new="async ask(") == "edited src/db.ts"
    assert "async ask(" in (folder / "src/db.ts").read_text()
    assert tools.call("check").endswith("40 of 40 files parse")
