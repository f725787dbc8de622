"""Fields of structs in the conditions of joins: columns of their own, which a leaf gives beside the struct.

`a.key.id = b.key.id` compares columns to whoever writes it; a struct is taken apart by Spark alone, and of an outer
join that is not enough. So each field that some condition asks for becomes a column of the leaf that has the struct,
and the condition reads that one. A field of a struct that is NULL is NULL, and so is the column: it may be read
wherever the leaf's columns are.
"""

from __future__ import annotations

from collections.abc import Collection

from penstock.spark.frames.catalyst import Catalyst, Node, children, kind, number_of, output
from penstock.spark.frames.expression_texts import parts

_Path = tuple[int, ...]
"""The number of a column, then the place of the field, of the field in that, and so on."""


class StructFields:
    """The fields that the joins of one plan ask for."""

    def __init__(self, catalyst: Catalyst, plan: Node) -> None:
        self.catalyst = catalyst
        self.asked = _asked(plan)
        self.columns: dict[_Path, list[Node]] = {}

    def given_by(self, leaf: Node) -> Node:
        """The leaf with the fields that are asked of its structs as columns too."""
        own = {number_of(attribute) for attribute in output(leaf)}
        made = []
        for path, field in self.asked.items():
            if path[0] in own:
                column = self.catalyst.named(field, _name(field))
                self.columns.setdefault(path, []).append(column.toAttribute())
                made.append(column)
        return self.catalyst.project([*output(leaf), *made], leaf) if made else leaf

    def said(self, condition: Node, known: Collection[int]) -> Node:
        """A condition over such columns, as far as they are known where it is asked."""
        path = _path(condition)
        found = (one for one in self.columns.get(path, ()) if number_of(one) in known) if path else ()
        column = next(iter(found), None)
        if column is not None:
            return column
        below = [self.said(child, known) for child in children(condition)]
        return condition.withNewChildren(self.catalyst.seq(below)) if below else condition


def _asked(plan: Node) -> dict[_Path, Node]:
    found = {path: field for child in children(plan) for path, field in _asked(child).items()}
    if kind(plan) == "Join" and plan.condition().isDefined() and all(child.isStreaming() for child in children(plan)):
        for part in parts(plan.condition().get()):
            path = _path(part)
            if path:
                found.setdefault(path, part)
    return found


def _name(field: Node) -> str:
    (struct,) = children(field)
    below = str(struct.name()) if kind(struct) == "AttributeReference" else _name(struct)
    return f"{below}_{field.extractFieldName()}"


def _path(expression: Node) -> _Path:
    """The path of a field; empty if the expression is none."""
    if kind(expression) != "GetStructField":
        return ()
    (struct,) = children(expression)
    if kind(struct) == "AttributeReference":
        return number_of(struct), int(expression.ordinal())
    below = _path(struct)
    return (*below, int(expression.ordinal())) if below else ()
