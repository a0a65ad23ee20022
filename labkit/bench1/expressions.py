"""Expressions of TypeScript, on plain values."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from labkit.bench1.members import member
from labkit.bench1.tree import NotUnderstood, in_async, piece, text_of
from labkit.bench1.values import (
    DB,
    Builtin,
    Function,
    Method,
    Pattern,
    Promise,
    Rows,
    Scope,
    shown,
    truthy,
    unwrapped,
)

__all__ = ["Expressions"]

_COMPARED: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "-": operator.sub,
    "*": operator.mul,
}
_THROUGH = ("parenthesized_expression", "as_expression", "non_null_expression", "satisfies_expression")


class Expressions:
    """What a file's expressions come to; :class:`labkit.bench1.script.Script` adds statements and functions."""

    def send(self, name: str, given: list[Any]) -> Any:
        """A call of the database."""
        raise NotImplementedError

    def apply(self, function: Function, values: list[Any]) -> Any:
        """A call of a function of a file."""
        raise NotImplementedError

    def call(self, function: Any, values: list[Any]) -> Any:
        """Call what can be called."""
        if isinstance(function, Function):
            return self.apply(function, values)
        if isinstance(function, Method):
            return self.send(function.name, values)
        if isinstance(function, Builtin):
            return function.run(values)
        raise NotUnderstood(f"{function!r} is called and is no function")

    def holds(self, node: Any, scope: Scope) -> bool:
        """Whether a condition is true."""
        return truthy(self.value(node, scope))

    def bind(self, pattern: Any, value: Any, scope: Scope, *, fixed: bool = False) -> None:
        """Give names their values: one name, or those of a list or an object."""
        kind = pattern.type
        if kind in ("identifier", "shorthand_property_identifier_pattern"):
            scope.declare(text_of(pattern), value, fixed=fixed)
        elif kind in ("assignment_pattern", "object_assignment_pattern"):
            if value is None:
                value = self.value(pattern.child_by_field_name("right"), scope)
            self.bind(pattern.child_by_field_name("left"), value, scope, fixed=fixed)
        elif kind == "array_pattern" and isinstance(value, list):
            for at, part in enumerate(_places(pattern)):
                if part is not None and part.type == "rest_pattern":
                    self.bind(part.named_children[0], value[at:], scope, fixed=fixed)
                elif part is not None:
                    self.bind(part, value[at] if at < len(value) else None, scope, fixed=fixed)
        elif kind == "object_pattern" and (value is DB or isinstance(value, dict | Rows)):
            for part in pattern.named_children:
                if part.type == "pair_pattern":
                    name, part = self._key(part.child_by_field_name("key"), scope), part.child_by_field_name("value")
                elif part.type in ("shorthand_property_identifier_pattern", "object_assignment_pattern"):
                    name = text_of(part.child_by_field_name("left") or part)
                else:
                    raise NotUnderstood(f"this pattern is not followed: {text_of(pattern)[:60]!r}")
                self.bind(part, member(value, name, self.call), scope, fixed=fixed)
        else:
            raise NotUnderstood(f"this pattern is not followed: {text_of(pattern)[:60]!r}")

    def value(self, node: Any, scope: Scope) -> Any:
        """What an expression comes to."""
        kind = node.type
        handler = getattr(self, f"_of_{kind}", None)
        if handler is not None:
            return handler(node, scope)
        if kind in _THROUGH:
            return self.value(next(n for n in node.named_children if n.type != "comment"), scope)
        if kind in ("arrow_function", "function_expression"):
            return Function(node, scope)
        if kind in _WORDS:
            return _WORDS[kind]
        raise NotUnderstood(f"{kind} is not followed: {text_of(node)[:60]!r}")

    def _of_identifier(self, node: Any, scope: Scope) -> Any:
        return scope.find(text_of(node))

    def _of_type_assertion(self, node: Any, scope: Scope) -> Any:
        return self.value(node.named_children[-1], scope)

    def _of_await_expression(self, node: Any, scope: Scope) -> Any:
        if not in_async(node):
            raise NotUnderstood("await stands in a function that is not async")
        return unwrapped(self.value(node.named_children[0], scope))

    def _of_number(self, node: Any, scope: Scope) -> Any:
        text = text_of(node).replace("_", "")
        return float(text) if "." in text else int(text, 0)

    def _of_string(self, node: Any, scope: Scope) -> str:
        return "".join(map(piece, node.named_children))

    def _of_template_string(self, node: Any, scope: Scope) -> str:
        texts, values = self._template(node, scope)
        return "".join(text + shown(value) for text, value in zip(texts, values, strict=False)) + texts[-1]

    def _template(self, node: Any, scope: Scope, *, raw: bool = False) -> tuple[list[str], list[Any]]:
        """The texts of a template, and the values between them."""
        texts, values = [""], []
        for part in node.named_children:
            if part.type == "template_substitution":
                values.append(self.value(part.named_children[0], scope))
                texts.append("")
            else:
                texts[-1] += text_of(part) if raw else piece(part)
        return texts, values

    def _of_regex(self, node: Any, scope: Scope) -> Pattern:
        flags = node.child_by_field_name("flags")
        written = "" if flags is None else text_of(flags)
        if set(written) - {"g"}:
            raise NotUnderstood(f"the flags {written} of a pattern are not followed")
        return Pattern(text_of(node.child_by_field_name("pattern")), "g" in written)

    def _of_array(self, node: Any, scope: Scope) -> list[Any]:
        return self._listed(node, scope)

    def _listed(self, node: Any, scope: Scope) -> list[Any]:
        made: list[Any] = []
        for part in node.named_children:
            if part.type == "spread_element":
                more = self.value(part.named_children[0], scope)
                if not isinstance(more, list):
                    raise NotUnderstood(f"{text_of(part)[:60]!r} is no list")
                made += more
            elif part.type != "comment":
                made.append(self.value(part, scope))
        return made

    def _of_object(self, node: Any, scope: Scope) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for part in node.named_children:
            if part.type == "pair":
                key = self._key(part.child_by_field_name("key"), scope)
                made[key] = self.value(part.child_by_field_name("value"), scope)
            elif part.type == "shorthand_property_identifier":
                made[text_of(part)] = scope.find(text_of(part))
            elif part.type == "spread_element":
                more = self.value(part.named_children[0], scope)
                if not isinstance(more, dict):
                    raise NotUnderstood(f"{text_of(part)[:60]!r} is no plain object")
                made |= more
            elif part.type == "method_definition":
                made[self._key(part.child_by_field_name("name"), scope)] = Function(part, scope)
            elif part.type != "comment":
                raise NotUnderstood(f"{part.type} is not followed: {text_of(part)[:60]!r}")
        return made

    def _key(self, node: Any, scope: Scope) -> Any:
        if node.type == "computed_property_name":
            return self.value(node.named_children[0], scope)
        return self._of_string(node, scope) if node.type == "string" else text_of(node)

    def _of_binary_expression(self, node: Any, scope: Scope) -> Any:
        sign = text_of(node.child_by_field_name("operator"))
        left, other = self.value(node.child_by_field_name("left"), scope), node.child_by_field_name("right")
        if sign in ("&&", "||", "??"):
            over = left is None if sign == "??" else truthy(left) is (sign == "&&")
            return self.value(other, scope) if over else left
        return _operated(sign, left, self.value(other, scope))

    def _of_unary_expression(self, node: Any, scope: Scope) -> Any:
        sign, value = (
            text_of(node.child_by_field_name("operator")),
            self.value(node.child_by_field_name("argument"), scope),
        )
        if sign == "!":
            return not truthy(value)
        if sign == "typeof":
            names = {str: "string", bool: "boolean", int: "number", float: "number", type(None): "undefined"}
            return names.get(type(value), "object")
        if sign in ("-", "+") and isinstance(value, int | float):
            return -value if sign == "-" else value
        raise NotUnderstood(f"the operator {sign} is not followed")

    def _of_ternary_expression(self, node: Any, scope: Scope) -> Any:
        chosen = "consequence" if self.holds(node.child_by_field_name("condition"), scope) else "alternative"
        return self.value(node.child_by_field_name(chosen), scope)

    def _of_assignment_expression(self, node: Any, scope: Scope) -> Any:
        return self._assigned(node, self.value(node.child_by_field_name("right"), scope), scope)

    def _of_augmented_assignment_expression(self, node: Any, scope: Scope) -> Any:
        before = self.value(node.child_by_field_name("left"), scope)
        sign = text_of(node.child_by_field_name("operator")).removesuffix("=")
        made = _operated(sign, before, self.value(node.child_by_field_name("right"), scope))
        return self._assigned(node, made, scope)

    def _of_update_expression(self, node: Any, scope: Scope) -> Any:
        name = text_of(node.child_by_field_name("argument"))
        before = scope.find(name)
        after = _operated(text_of(node.child_by_field_name("operator"))[0], before, 1)
        scope.assign(name, after)
        return after if node.children[0].type in ("++", "--") else before

    def _assigned(self, node: Any, value: Any, scope: Scope) -> Any:
        left = node.child_by_field_name("left")
        if left.type == "identifier":
            scope.assign(text_of(left), value)
            return value
        owner = self.value(left.child_by_field_name("object"), scope) if left.type == "member_expression" else None
        if not isinstance(owner, dict):
            raise NotUnderstood(f"this assignment is not followed: {text_of(node)[:60]!r}")
        owner[text_of(left.child_by_field_name("property"))] = value
        return value

    def _of_member_expression(self, node: Any, scope: Scope) -> Any:
        owner = self.value(node.child_by_field_name("object"), scope)
        return member(owner, text_of(node.child_by_field_name("property")), self.call)

    def _of_subscript_expression(self, node: Any, scope: Scope) -> Any:
        owner = self.value(node.child_by_field_name("object"), scope)
        return member(owner, self.value(node.child_by_field_name("index"), scope), self.call)

    def _of_call_expression(self, node: Any, scope: Scope) -> Any:
        called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if given.type == "template_string":
            raw = text_of(called) == "String.raw"
            texts, values = self._template(given, scope, raw=raw)
            if raw:
                return "".join(t + shown(v) for t, v in zip(texts, values, strict=False)) + texts[-1]
            return self.call(self.value(called, scope), [texts, *values])
        return self.call(self.value(called, scope), self._listed(given, scope))


def _places(pattern: Any) -> list[Any]:
    """The parts of a list pattern, ``None`` where one is left out."""
    parts: list[Any] = [None]
    for child in pattern.children[1:-1]:
        if child.type == ",":
            parts.append(None)
        elif child.type != "comment":
            parts[-1] = child
    return parts


def _operated(sign: str, left: Any, right: Any) -> Any:
    if sign == "+":
        if isinstance(left, str) or isinstance(right, str):
            return shown(left) + shown(right)
        return left + right
    if isinstance(left, Rows | Promise) or isinstance(right, Rows | Promise):
        raise NotUnderstood("what depends on the rows that come back is not followed")
    if sign in ("===", "!==", "==", "!="):
        return (left == right) is (sign[0] == "=")
    if sign in _COMPARED:
        return _COMPARED[sign](left, right)
    raise NotUnderstood(f"the operator {sign} is not followed")


_WORDS: Mapping[str, Any] = {"true": True, "false": False, "null": None, "undefined": None}
