"""Runs the few lines of TypeScript that make a query, on sample values: what would be sent to the database?

It follows declarations, strings, templates, lists, objects, conditions, calls, and imports between the files of
the service. What it does not follow it refuses, so a migration that cannot be understood is not taken for a right
one.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from labkit.bench1.expressions import Expressions
from labkit.bench1.members import GLOBALS
from labkit.bench1.tree import NotUnderstood, in_async, inside, parse, text_of
from labkit.bench1.values import DB, Builtin, Expectation, Function, Promise, Rows, Scope, Unknown, unwrapped

__all__ = ["NotUnderstood", "Script", "Sent"]

Sent = tuple[str, str, tuple[Any, ...]]
"""What was called (``query`` or ``queryRaw``), its SQL, its values."""

DATABASE = "src/db.ts"


class _Return(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


@dataclass
class _World:
    """What all files of a run share: what was sent, what was expected, and the files by path."""

    files: Mapping[str, str] = field(default_factory=dict)
    modules: dict[str, Script] = field(default_factory=dict)
    sent: list[Sent] = field(default_factory=list)
    checks: list[Any] = field(default_factory=list)


class Script(Expressions):
    """One file, ready to be run.

    Parameters
    ----------
    text : str
        Of the file.
    path : str, optional
        Where it lies, for its imports. Without a path nothing is imported, and ``db`` is the database.
    files : mapping of str to str, optional
        The other files, by path.

    Attributes
    ----------
    checks : list of tuple
        After a run, what was expected: of what, negated or not, how, and with what.
    result : object
        After a run, what came back.

    Raises
    ------
    InputError
        If tree-sitter is not installed.

    Examples
    --------
    >>> Script("export const f = (id) => db.query('WHERE id = $1', [id]);").run("f", (7,))
    [('query', 'WHERE id = $1', (7,))]
    """

    def __init__(
        self, text: str, path: str | None = None, files: Mapping[str, str] | None = None, *, world: _World | None = None
    ) -> None:
        self.path, self.world = path, world or _World(files or {})
        self.tests: dict[str, Function] = {}
        self.exports: dict[str, Any] = {}
        self.trouble = ""
        self.result: Any = None
        known: dict[str, Any] = dict(GLOBALS)
        known |= {name: Builtin(self._test) for name in ("test", "it")}
        known["describe"] = Builtin(lambda given: self.call(given[1], []))
        known["expect"] = Builtin(lambda given: Expectation(given[0], self.world.checks))
        if path is None:
            known["db"] = DB
        self.scope = Scope(Scope(names=known))
        if path is not None:
            self.world.modules[path] = self
        nodes = parse(text).root_node.named_children
        self._hoist(nodes, self.scope)
        for node in nodes:
            self._top(node)

    @property
    def checks(self) -> list[Any]:
        """What was expected in the last run."""
        return self.world.checks

    def _test(self, given: list[Any]) -> None:
        if len(given) < 2 or not isinstance(given[1], Function):
            raise NotUnderstood("a test has a name and a function: keep both")
        self.tests[str(given[0])] = given[1]

    def _top(self, node: Any) -> None:
        if node.type == "import_statement":
            self._import(node)
            return
        if node.type == "export_statement":
            self._export(node)
            return
        if node.type in ("lexical_declaration", "variable_declaration", "expression_statement"):
            try:
                self.statement(node, self.scope)
            except NotUnderstood as error:  # it may have nothing to do with the query: who uses it is told
                for declared in node.named_children:
                    name = declared.child_by_field_name("name")
                    for part in [] if name is None else inside(name):
                        if part.type.endswith("identifier") or part.type.endswith("identifier_pattern"):
                            self.scope.names.setdefault(text_of(part), Unknown(str(error)))
                if node.type == "expression_statement":
                    self.trouble = self.trouble or str(error)

    def _export(self, node: Any) -> None:
        inner = node.child_by_field_name("declaration")
        if inner is not None:
            self._top(inner)
            named = [inner, *inner.named_children]
            names = [n.child_by_field_name("name") for n in named if n.child_by_field_name("name") is not None]
            self.exports |= {text_of(n): self.scope.names.get(text_of(n)) for n in names[:1]}
        elif node.child_by_field_name("source") is None:
            for spec in (n for n in inside(node) if n.type == "export_specifier"):
                name, alias = spec.child_by_field_name("name"), spec.child_by_field_name("alias")
                self.exports[text_of(alias or name)] = self.scope.names.get(text_of(name))

    def _import(self, node: Any) -> None:
        source = text_of(node.child_by_field_name("source"))[1:-1]
        found = self._module(source)
        for spec in inside(node):
            if spec.type == "import_specifier":
                name, alias = spec.child_by_field_name("name"), spec.child_by_field_name("alias")
                missing = Unknown(f"{text_of(name)!r} is not in {source}, as far as the service goes")
                self.scope.names[text_of(alias or name)] = found.get(text_of(name), missing)
            elif spec.type == "namespace_import":
                self.scope.names[text_of(spec.named_children[0])] = dict(found)

    def _module(self, source: str) -> Mapping[str, Any]:
        """What a file exports; nothing where the file is not of the service."""
        if self.path is None or not source.startswith("."):
            return {}
        at = posixpath.normpath(posixpath.join(posixpath.dirname(self.path), source))
        for path in (at, f"{at}.ts", at.removesuffix(".js") + ".ts", f"{at}/index.ts"):
            if path == DATABASE:
                return {"db": DB}
            if path in self.world.files:
                made = self.world.modules.get(path) or Script(self.world.files[path], path, world=self.world)
                return made.exports
        return {}

    def run(self, entry: str, values: Sequence[Any]) -> list[Sent]:
        """Call a function, or run a test, and return what was sent to the database.

        Raises
        ------
        NotUnderstood
            If there is no such function or test, or it does what is not followed.
        """
        if self.trouble:
            raise NotUnderstood(self.trouble)
        exported = self.scope.names if self.path is None else self.exports
        target = self.tests.get(entry) or exported.get(entry)
        if not isinstance(target, Function):
            raise NotUnderstood(f"there is no exported function and no test {entry!r} any more: keep it")
        self.world.sent.clear()
        self.world.checks.clear()
        try:
            self.result = unwrapped(self.call(target, list(values)))
        except RecursionError as error:
            raise NotUnderstood(f"{entry} calls itself without end") from error
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, re.error) as error:
            raise NotUnderstood(f"it would fail, or is not followed: {error}") from error
        return list(self.world.sent)

    def send(self, name: str, given: list[Any]) -> Any:
        """A call of the database."""
        wanted = 1 if name == "queryRaw" else 2
        if (
            len(given) != wanted
            or not isinstance(given[0], str)
            or not isinstance(given[-1], str if wanted == 1 else list)
        ):
            raise NotUnderstood("db.query takes a text and a list of values, as two arguments")
        self.world.sent.append((name, given[0], tuple(given[1]) if wanted == 2 else ()))
        return Promise(Rows((len(self.world.sent) - 1,)))

    # -- statements -------------------------------------------------------------------------------

    def apply(self, function: Function, values: list[Any]) -> Any:
        """Call a function of a file."""
        scope, node = Scope(function.scope), function.node
        given = node.child_by_field_name("parameters")
        rest = list(values)
        for parameter in given.named_children if given is not None else []:
            pattern = parameter.child_by_field_name("pattern") or parameter
            if pattern.type == "comment":
                continue
            if pattern.type == "rest_pattern":
                self.bind(pattern.named_children[0], rest, scope)
                break
            value = rest.pop(0) if rest else None
            default = parameter.child_by_field_name("value")
            if value is None and default is not None:
                value = self.value(default, scope)
            self.bind(pattern, value, scope)
        one = node.child_by_field_name("parameter")
        if one is not None:
            scope.declare(text_of(one), values[0] if values else None)
        body = node.child_by_field_name("body")
        result = None
        if body.type != "statement_block":
            result = self.value(body, scope)
        else:
            try:
                self.block(body, scope)
            except _Return as returned:
                result = returned.value
        return Promise(unwrapped(result)) if in_async(node) else result

    def block(self, body: Any, scope: Scope) -> None:
        """Run the statements of a block."""
        self._hoist(body.named_children, scope)
        for statement in body.named_children:
            self.statement(statement, scope)

    def _hoist(self, nodes: Sequence[Any], scope: Scope) -> None:
        """Functions are known before the statement that declares them."""
        for node in nodes:
            inner = node.child_by_field_name("declaration") if node.type == "export_statement" else node
            if inner is not None and inner.type == "function_declaration":
                scope.declare(text_of(inner.child_by_field_name("name")), Function(inner, scope))

    def statement(self, node: Any, scope: Scope) -> None:
        """Run one statement."""
        kind = node.type
        if kind in ("comment", "function_declaration", "empty_statement", "type_alias_declaration"):
            return
        if kind in ("lexical_declaration", "variable_declaration"):
            fixed = text_of(node.children[0]) == "const"
            for declared in node.named_children:
                if declared.type == "variable_declarator":
                    given = declared.child_by_field_name("value")
                    value = None if given is None else self.value(given, scope)
                    self.bind(declared.child_by_field_name("name"), value, scope, fixed=fixed)
        elif kind == "return_statement":
            said = [n for n in node.named_children if n.type != "comment"]
            raise _Return(self.value(said[0], scope) if said else None)
        elif kind == "expression_statement":
            self.value(node.named_children[0], scope)
        elif kind == "if_statement":
            chosen = "consequence" if self.holds(node.child_by_field_name("condition"), scope) else "alternative"
            branch = node.child_by_field_name(chosen)
            if branch is not None:
                self.statement(branch, scope)
        elif kind in ("statement_block", "else_clause"):
            self.block(node, Scope(scope))
        elif kind == "try_statement":  # nothing fails here, so what would catch it is not run
            handler = node.child_by_field_name("handler")
            if handler is not None and not any(n.type == "throw_statement" for n in inside(handler)):
                raise NotUnderstood("what fails in the database is caught and not thrown again")
            self.block(node.child_by_field_name("body"), Scope(scope))
            last = node.child_by_field_name("finalizer")
            if last is not None:
                self.block(last.child_by_field_name("body"), Scope(scope))
        elif kind == "for_in_statement" and text_of(node.child_by_field_name("operator")) == "of":
            for value in list(self.value(node.child_by_field_name("right"), scope)):
                inner = Scope(scope)
                self.bind(node.child_by_field_name("left"), value, inner)
                self.statement(node.child_by_field_name("body"), inner)
        else:
            raise NotUnderstood(f"{kind} is not followed: {text_of(node)[:60]!r}")
