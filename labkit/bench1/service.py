"""The generated service: 40 TypeScript files, seven of which call ``db.queryRaw()``."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

__all__ = ["FILES", "Service", "Site", "service", "unrelated"]

FILES = 40
"""Files of a service, the database module, the sites and the decoys among them."""

_DB = """// queryRaw() sends its text as it is. query() sends text and values apart: $1 is the first value.
export const db = {
  async queryRaw(sql: string): Promise<any[]> {
    return connection.send(sql, []);
  },
  async query(sql: string, values: any[]): Promise<any[]> {
    return connection.send(sql, values);
  },
};
"""

_NOUNS = (
    *("invoice", "parcel", "refund", "coupon", "tariff", "ledger", "voucher"),
    *("pallet", "courier", "depot", "batch", "quota", "permit", "roster"),
)
_VERBS = ("rounds", "checks", "merges", "sorts", "counts", "labels", "groups", "splits")


@dataclass(frozen=True)
class Site:
    """One place to migrate.

    Parameters
    ----------
    path : str
        File, from the service's folder.
    entry : str
        The function, or the name of the test, that makes the query.
    samples : tuple of tuple
        Arguments on which the migrated query must mean what the old one meant; a test takes none.
    shape : str
        What makes the site what it is, in words.
    """

    path: str
    entry: str
    samples: tuple[tuple[str | int, ...], ...]
    shape: str


@dataclass(frozen=True, eq=False)
class Service:
    """A service before the migration.

    Parameters
    ----------
    seed : int
    files : dict of str to str
        Text by path.
    sites : tuple of Site
    """

    seed: int
    files: dict[str, str]
    sites: tuple[Site, ...]

    def write(self, folder: Path) -> Path:
        """Write all files into a folder, and return it."""
        for path, text in self.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8", newline="\n")
        return folder


def service(seed: int) -> Service:
    """A service, the same for the same seed.

    Parameters
    ----------
    seed : int

    Returns
    -------
    Service
        Forty files and seven sites: plain, over several lines, under another name, in a helper that joins
        strings, in a test, taken out of the object, and with a pattern for LIKE.

    Examples
    --------
    >>> made = service(1)
    >>> len(made.files), len(made.sites), made.files == service(1).files
    (40, 7, True)
    """
    rng = random.Random(f"service {seed}")
    nouns = rng.sample(_NOUNS, len(_NOUNS))
    names, words = ("ada", "o'neil", "x' OR '1'='1"), ("open", "late'; --", "paid")
    made = [_site(i, noun, shape) for i, (noun, shape) in enumerate(zip(nouns, _SHAPES, strict=False))]
    sites = []
    files = {"src/db.ts": _DB}
    for path, entry, kinds, body, shape in made:
        picked = {"n": (7, 12, 30), "s": names, "w": words}
        columns = [picked[kind] for kind in kinds]
        samples = tuple(zip(*columns, strict=True)) if columns else ((),)
        sites.append(Site(path, entry, samples, shape))
        files[path] = _padded(body, entry, rng)
    for noun in nouns[7:10]:  # they name the call and make none
        files[f"src/{noun}/notes.ts"] = _padded(
            f'// Once called db.queryRaw() here; see src/db.ts.\nexport const about = "{noun}";\n', noun, rng
        )
    number = 0
    while len(files) < FILES:
        noun = nouns[number % len(nouns)]
        files[f"src/{noun}/part{number}.ts"] = _padded(f'export const part{number} = "{noun}";\n', noun, rng)
        number += 1
    order = sorted(files)
    return Service(seed, {path: files[path] for path in order}, tuple(sorted(sites, key=lambda s: s.path)))


_SHAPES = ("plain", "several lines", "another name", "helper", "test", "taken out", "pattern")


def _site(number: int, noun: str, shape: str) -> tuple[str, str, str, str, str]:
    name = noun.capitalize()
    entry, path, kinds = f"find{name}", f"src/{noun}/store.ts", "n"
    head = 'import { db } from "../db";\n\n'
    if shape == "plain":
        body = (
            f"export async function {entry}(id: number) {{\n"
            f"  return db.queryRaw(`SELECT * FROM {noun} WHERE id = ${{id}}`);\n}}\n"
        )
    elif shape == "several lines":
        kinds = "swn"
        body = (
            f"export async function {entry}(owner: string, state: string, least: number) {{\n"
            f"  return db.queryRaw(`\n    SELECT id, owner\n    FROM {noun}\n    WHERE owner = '${{owner}}'\n"
            f"      AND state = '${{state}}'\n      AND amount >= ${{least}}\n  `);\n}}\n"
        )
    elif shape == "another name":
        head, kinds = 'import { db as database } from "../db";\n\n', "ns"
        body = (
            f"export async function {entry}(id: number, owner: string) {{\n"
            f"  return database.queryRaw(`UPDATE {noun} SET owner = '${{owner}}' WHERE id = ${{id}}`);\n}}\n"
        )
    elif shape == "helper":
        kinds = "ws"
        body = (
            f"async function select(state: string, owner: string) {{\n"
            f'  const sql = "SELECT * FROM {noun} WHERE state = \'" + state + "\' AND owner = \'" + owner + "\'";\n'
            f"  return db.queryRaw(sql);\n}}\n\n"
            f"export async function {entry}(state: string, owner: string) {{\n  return select(state, owner);\n}}\n"
        )
    elif shape == "test":
        head, path, kinds, entry = 'import { db } from "../src/db";\n\n', f"tests/{noun}.test.ts", "", f"finds {noun}"
        body = (
            f'test("{entry}", async () => {{\n  const id = {number + 40};\n'
            f'  const owner = "kim";\n'
            f"  const rows = await db.queryRaw(`SELECT * FROM {noun} WHERE id = ${{id}} AND owner = '${{owner}}'`);\n"
            f"  expect(rows.length).toBe(1);\n}});\n"
        )
    elif shape == "taken out":
        kinds = "sn"
        body = (
            f"export async function {entry}(owner: string, id: number) {{\n  const {{ queryRaw }} = db;\n"
            f"  return queryRaw(`DELETE FROM {noun} WHERE id = ${{id}} AND owner = '${{owner}}'`);\n}}\n"
        )
    else:
        kinds = "sn"
        body = (
            f"export async function {entry}(term: string, most: number) {{\n"
            f"  return db.queryRaw(`SELECT * FROM {noun} WHERE name LIKE '%${{term}}%' LIMIT ${{most}}`);\n}}\n"
        )
    return path, entry, kinds, head + body, shape


def _padded(body: str, about: str, rng: random.Random) -> str:
    """A body with functions behind it that have nothing to do with the database."""
    return "\n".join([body, *(unrelated(rng, i, about) for i in range(rng.randint(40, 70)))])


def unrelated(rng: random.Random, number: int, about: str) -> str:
    """A function that has nothing to do with the database."""
    verb, base, step = rng.choice(_VERBS), rng.randint(100, 9_999), rng.randint(2, 97)
    return (
        f"// {verb} the {rng.choice(_NOUNS)} of {about}, number {base}\n"
        f"export function {verb}{number}Of{base}(amount: number, rate: number): number {{\n"
        f"  const whole = amount * {step} + {base};\n  const part = whole % {rng.randint(3, 89)};\n"
        f"  if (part > rate) {{\n    return whole - part;\n  }}\n  return whole + {rng.randint(1, 50)};\n}}\n"
    )
