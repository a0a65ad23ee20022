"""How the built-in agent rewrites a query that it sees, rightly or, where it forgot the rule, wrongly."""

from __future__ import annotations

import re

__all__ = ["migration"]

_CALL = re.compile(r"\bqueryRaw\(\s*(`[^`]*`|sql)\s*\)")
_JOINED = re.compile(r"const sql = ((?:\"[^\"]*\"|\w+)(?: \+ (?:\"[^\"]*\"|\w+))*);")
_VALUE = re.compile(r"'([^'$]*)\$\{([^}]*)\}([^']*)'|\$\{([^}]*)\}")


def migration(text: str, *, right: bool = True) -> tuple[str, str] | None:
    """The old and the new text of an edit that migrates the query of a file.

    Parameters
    ----------
    text : str
        The file, as the agent sees it.
    right : bool
        Whether the agent has the rule in mind that values stand in the order of their placeholders; if not,
        it puts them in the opposite order, and a single value into the text.

    Returns
    -------
    (str, str) or None
        ``None`` where it sees no query to migrate.

    Examples
    --------
    >>> migration("db.queryRaw(`WHERE id = ${id}`);")
    ('db.queryRaw(`WHERE id = ${id}`);', 'db.query(`WHERE id = $1`, [id]);')
    """
    call = _CALL.search(text)
    if call is None:
        return None
    joined = _JOINED.search(text) if call[1] == "sql" else None
    if call[1] == "sql" and joined is None:
        return None
    template = call[1] if joined is None else _as_template(joined[1])
    values: list[str] = []

    def placeholder(found: re.Match[str]) -> str:
        inside = found[2] or found[4]
        values.append(f"`{found[1]}${{{inside}}}{found[3]}`" if found[1] or found[3] else inside)
        return f"${len(values)}"

    sql = _VALUE.sub(placeholder, template)
    if not right:
        values.reverse()
        if len(values) == 1:
            sql, values = template, []
    given = f"[{', '.join(values)}]"
    new = text[: call.start()] + f"query({sql if joined is None else 'sql'}, {given})" + text[call.end() :]
    if joined is not None:
        new = new.replace(joined[0], f"const sql = {sql};")
    new = new.replace("const { queryRaw } = db;", "const { query } = db;")
    return _smallest(text, new)


def _as_template(expression: str) -> str:
    parts = [p.strip() for p in re.findall(r"\"[^\"]*\"|\w+", expression)]
    return "`" + "".join(p[1:-1] if p.startswith('"') else f"${{{p}}}" for p in parts) + "`"


def _smallest(old: str, new: str) -> tuple[str, str]:
    """Whole lines around what differs."""
    before, after = old.split("\n"), new.split("\n")
    head = 0
    while before[head] == after[head]:
        head += 1
    tail = 0
    while before[-1 - tail] == after[-1 - tail]:
        tail += 1
    cut = slice(head, len(before) - tail), slice(head, len(after) - tail)
    return "\n".join(before[cut[0]]), "\n".join(after[cut[1]])
