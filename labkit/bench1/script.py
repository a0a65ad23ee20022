"""Runs the few lines of TypeScript that make a query, on sample values: what would be sent to the database?

It follows declarations, strings, templates, lists, conditions and calls within one file. What it does not
follow it refuses, so a migration that cannot be understood is not taken for a right one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from labkit.errors import InputError

__all__ = ["NotUnderstood", "Script", "Sent"]

Sent = tuple[str, str, tuple[Any, ...]]
"""What was called (``query`` or ``queryRaw``), its SQL, its values."""


class NotUnderstood(InputError):
    """TypeScript of a kind that is not followed here."""


@lru_cache(maxsize=1)
def _parser() -> Any:
    try:
        import tree_sitter
        import tree_sitter_typescript
    except ImportError as error:
        raise InputError(f"{error.name} is not installed: pip install 'labkit[bench1]'") from error
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_typescript.language_typescript()))


@lru_cache(maxsize=256)
def parse(text: str) -> Any:
    """The syntax tree of a file."""
    return _parser().parse(text.encode())


class _Return(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


_DB = object()


@dataclass
class _Function:
    node: Any
    scope: dict[str, Any]


@dataclass
class _Method:
    name: str


@dataclass
class Script:
    """One file, ready to be run.

    Parameters
    ----------
    text : str
        Of the file.

    Raises
    ------
    InputError
        If tree-sitter is not installed.

    Examples
    --------
    >>> Script("export const f = (id) => db.query('WHERE id = $1', [id]);").run("f", (7,))
    [('query', 'WHERE id = $1', (7,))]
    """

    text: str
    sent: list[Sent] = field(default_factory=list, init=False)
    tests: dict[str, _Function] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.tree = parse(self.text)
        self.scope: dict[str, Any] = {"db": _DB}
        for node in self.tree.root_node.named_children:
            self._top(node)

    def _top(self, node: Any) -> None:
        if node.type == "export_statement":
            inner = node.child_by_field_name("declaration")
            if inner is not None:
                self._top(inner)
        elif node.type == "import_statement":
            for spec in _all(node, "import_specifier"):
                name, alias = spec.child_by_field_name("name"), spec.child_by_field_name("alias")
                if _text(name) == "db":
                    self.scope[_text(alias or name)] = _DB
        elif node.type == "function_declaration":
            self.scope[_text(node.child_by_field_name("name"))] = _Function(node, self.scope)
        elif node.type == "lexical_declaration":
            self._statement(node, self.scope)
        elif node.type == "expression_statement" and node.named_children[0].type == "call_expression":
            call = node.named_children[0]
            if _text(call.child_by_field_name("function")) in ("test", "it"):
                given = call.child_by_field_name("arguments").named_children
                self.tests[str(self._value(given[0], self.scope))] = _Function(given[1], self.scope)

    def run(self, entry: str, values: Sequence[Any]) -> list[Sent]:
        """Call a function, or run a test, and return what was sent to the database.

        Raises
        ------
        NotUnderstood
            If there is no such function or test, or it does what is not followed.
        """
        target = self.tests.get(entry) or self.scope.get(entry)
        if not isinstance(target, _Function):
            raise NotUnderstood(f"there is no function or test {entry!r} any more: keep it")
        self.sent = []
        try:
            self._call(target, list(values))
        except RecursionError as error:
            raise NotUnderstood(f"{entry} calls itself without end") from error
        return self.sent

    # -- statements -------------------------------------------------------------------------------

    def _call(self, function: _Function, values: list[Any]) -> Any:
        scope = dict(function.scope)
        given = function.node.child_by_field_name("parameters")
        names = [_text(p.child_by_field_name("pattern") or p) for p in given.named_children] if given else []
        one = function.node.child_by_field_name("parameter")
        scope.update(zip([_text(one)] if one is not None else names, values, strict=False))
        body = function.node.child_by_field_name("body")
        if body.type != "statement_block":
            return self._value(body, scope)
        try:
            self._block(body, scope)
        except _Return as returned:
            return returned.value
        return None

    def _block(self, body: Any, scope: dict[str, Any]) -> None:
        for statement in body.named_children:
            self._statement(statement, scope)

    def _statement(self, node: Any, scope: dict[str, Any]) -> None:
        if node.type == "comment":
            return
        if node.type == "lexical_declaration":
            for declared in node.named_children:
                self._declare(declared, scope)
        elif node.type == "return_statement":
            raise _Return(self._value(node.named_children[0], scope) if node.named_children else None)
        elif node.type == "expression_statement":
            self._value(node.named_children[0], scope)
        elif node.type == "if_statement":
            chosen = "consequence" if self._value(node.child_by_field_name("condition"), scope) else "alternative"
            branch = node.child_by_field_name(chosen)
            if branch is not None:
                self._statement(branch, scope)
        elif node.type in ("statement_block", "else_clause"):
            self._block(node, scope)
        else:
            raise NotUnderstood(f"{node.type} is not followed: {_text(node)[:60]!r}")

    def _declare(self, node: Any, scope: dict[str, Any]) -> None:
        name, given = node.child_by_field_name("name"), node.child_by_field_name("value")
        value = None if given is None else self._value(given, scope)
        if name.type == "identifier":
            scope[_text(name)] = value
        elif name.type == "object_pattern" and value is _DB:
            for part in name.named_children:
                key, bound = part.child_by_field_name("key"), part.child_by_field_name("value")
                scope[_text(bound if bound is not None else part)] = _Method(_text(key if key is not None else part))
        else:
            raise NotUnderstood(f"this declaration is not followed: {_text(node)[:60]!r}")

    # -- values -----------------------------------------------------------------------------------

    def _value(self, node: Any, scope: dict[str, Any]) -> Any:
        kind = node.type
        handler = getattr(self, f"_of_{kind}", None)
        if handler is not None:
            return handler(node, scope)
        if kind in ("await_expression", "parenthesized_expression", "as_expression", "non_null_expression"):
            return self._value(node.named_children[0], scope)
        if kind in ("arrow_function", "function_expression"):
            return _Function(node, scope)
        if kind in _WORDS:
            return _WORDS[kind]
        raise NotUnderstood(f"{kind} is not followed: {_text(node)[:60]!r}")

    def _of_identifier(self, node: Any, scope: dict[str, Any]) -> Any:
        name = _text(node)
        if name not in scope:
            raise NotUnderstood(f"{name!r} is not defined in this file")
        return scope[name]

    def _of_number(self, node: Any, scope: dict[str, Any]) -> Any:
        return float(_text(node)) if "." in _text(node) else int(_text(node))

    def _of_string(self, node: Any, scope: dict[str, Any]) -> str:
        return "".join(_piece(part) for part in node.named_children)

    def _of_template_string(self, node: Any, scope: dict[str, Any]) -> str:
        parts = []
        for part in node.named_children:
            if part.type == "template_substitution":
                parts.append(_shown(self._value(part.named_children[0], scope)))
            else:
                parts.append(_piece(part))
        return "".join(parts)

    def _of_array(self, node: Any, scope: dict[str, Any]) -> list[Any]:
        return [self._value(part, scope) for part in node.named_children if part.type != "comment"]

    def _of_binary_expression(self, node: Any, scope: dict[str, Any]) -> Any:
        left, right = (self._value(node.child_by_field_name(side), scope) for side in ("left", "right"))
        sign = _text(node.child_by_field_name("operator"))
        if sign == "+":
            if isinstance(left, str) or isinstance(right, str):
                return _shown(left) + _shown(right)
            return left + right
        if sign in ("===", "!=="):
            return (left == right) is (sign == "===")
        raise NotUnderstood(f"the operator {sign} is not followed")

    def _of_member_expression(self, node: Any, scope: dict[str, Any]) -> Any:
        owner = self._value(node.child_by_field_name("object"), scope)
        name = _text(node.child_by_field_name("property"))
        if owner is _DB:
            return _Method(name)
        if name == "length":
            return 1  # of rows, which nobody has here
        raise NotUnderstood(f".{name} is not followed")

    def _of_call_expression(self, node: Any, scope: dict[str, Any]) -> Any:
        called = node.child_by_field_name("function")
        given = node.child_by_field_name("arguments")
        if given.type != "arguments":
            raise NotUnderstood("a tagged template is not followed")
        if _text(called).startswith("expect("):
            return None
        function = self._value(called, scope) if _text(called) not in ("String", "Number") else _text(called)
        values = [self._value(part, scope) for part in given.named_children if part.type != "comment"]
        if function == "String":
            return _shown(values[0])
        if function == "Number":
            return values[0]
        if isinstance(function, _Function):
            return self._call(function, values)
        if isinstance(function, _Method) and function.name in ("query", "queryRaw"):
            bound = values[1] if len(values) > 1 else []
            if not values or not isinstance(values[0], str) or not isinstance(bound, list):
                raise NotUnderstood("the database wants a text and a list of values")
            self.sent.append((function.name, values[0], tuple(bound)))
            return []
        raise NotUnderstood(f"the call {_text(node)[:60]!r} is not followed")


_WORDS: Mapping[str, Any] = {"true": True, "false": False, "null": None, "undefined": None}
_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\'": "'", '\\"': '"', "\\`": "`", "\\\\": "\\", "\\$": "$"}


def _piece(node: Any) -> str:
    return _ESCAPES.get(_text(node), _text(node)) if node.type == "escape_sequence" else _text(node)


def _shown(value: Any) -> str:
    return (
        {True: "true", False: "false", None: "null"}[value]
        if value is None or value is True or value is False
        else str(value)
    )


def _text(node: Any) -> str:
    return str(node.text.decode())


def _all(node: Any, kind: str) -> list[Any]:
    found = [node] if node.type == kind else []
    for child in node.named_children:
        found += _all(child, kind)
    return found
