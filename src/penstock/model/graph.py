"""The join graph: which streams meet on which key classes, and what shape that has.

Shape is decided on key classes, not on predicates as written, so `a.k = b.k AND b.k = c.k AND a.k = c.k` is no cycle:
streams are hyperedges over classes, and the graph is a TREE iff GYO reduction empties it, which is when a join tree
exists and messages along it decide the purge rule (DESIGN section 1). A graph that is no tree is a DAG if every pair of
joined streams is many-one by a PRIMARY KEY and the arrows have no cycle (KMON, appendix C); else it is CYCLIC.
Only the streams that stand in every result and the optional ones as if matched are looked at: outer joins have the
shape of the inner join of the same streams.
"""

from __future__ import annotations

from enum import StrEnum

from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Equalities, Residual, aliases_of
from penstock.model.query import Query
from penstock.records import record


class Shape(StrEnum):
    """What the join graph looks like."""

    SINGLE = "single stream"
    TREE = "tree"
    DAG = "DAG of many-one joins"
    CYCLIC = "cyclic"


@record
class KeyClass:
    """Columns of two or more streams that are equal in every result: one axis of the cells."""

    columns: tuple[ColumnRef, ...]

    @property
    def aliases(self) -> frozenset[str]:
        """The streams that have it."""
        return frozenset(ref.alias for ref in self.columns)

    def __str__(self) -> str:
        return " = ".join(str(ref) for ref in self.columns)


@record
class ManyOne:
    """Each tuple of `child` meets at most one of `parent`, by a key of `parent`."""

    child: str
    parent: str
    key: tuple[str, ...]


@record
class JoinGraph:
    """The join graph of a query."""

    aliases: tuple[str, ...]
    key_classes: tuple[KeyClass, ...]
    meetings: tuple[tuple[str, str], ...]
    """The pairs of streams that some predicate ties together, closure included."""
    many_one: tuple[ManyOne, ...]
    components: tuple[tuple[str, ...], ...]
    """More than one is a cross product."""
    join_tree: tuple[tuple[str, str], ...] | None
    """(child, parent) pairs along which a tree is folded, leaves first; None if the graph is no tree."""
    shape: Shape

    @classmethod
    def of(cls, query: Query) -> JoinGraph:
        """The graph of a query, all its optional streams taken as matched."""
        aliases = tuple(s.alias for s in query.all_sources)
        equalities = query.equalities(frozenset(aliases))
        key_classes = tuple(KeyClass(refs) for refs in equalities.classes if len({ref.alias for ref in refs}) > 1)
        labels = _labels(query, aliases, key_classes)
        meetings = tuple((a, b) for i, a in enumerate(aliases) for b in aliases[i + 1 :] if labels[a] & labels[b])
        many_one = _many_one(query, equalities, meetings)
        join_tree = _fold(aliases, labels)
        return cls(
            aliases,
            key_classes,
            meetings,
            many_one,
            _components(aliases, meetings),
            join_tree,
            _shape(aliases, meetings, many_one, join_tree is not None),
        )


def _labels(query: Query, aliases: tuple[str, ...], key_classes: tuple[KeyClass, ...]) -> dict[str, set[object]]:
    """What each stream shares with others: key classes, and each other predicate between two streams."""
    labels: dict[str, set[object]] = {alias: set() for alias in aliases}
    for key_class in key_classes:
        for alias in key_class.aliases:
            labels[alias].add(key_class)
    tied = {frozenset(pair) for k in key_classes for pair in _pairs(sorted(k.aliases))}
    for predicate in query.predicates:
        pair = aliases_of(predicate)
        # A band between streams that share a key rides on that key: it adds no edge of its own.
        if len(pair) == 2 and pair not in tied and not isinstance(predicate, Residual):
            for alias in pair:
                labels[alias].add(pair)
    return labels


def _pairs(names: list[str]) -> list[tuple[str, str]]:
    return [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]


def _many_one(query: Query, equalities: Equalities, meetings: tuple[tuple[str, str], ...]) -> tuple[ManyOne, ...]:
    found = []
    for pair in meetings:
        for child, parent in (pair, pair[::-1]):
            for key in query.by_alias[parent].stream.keys:
                partners = [equalities.class_of(ColumnRef(parent, column)) for column in key]
                if all(any(ref.alias == child for ref in refs) for refs in partners):
                    found.append(ManyOne(child, parent, key))
                    break
    return tuple(found)


def _components(aliases: tuple[str, ...], meetings: tuple[tuple[str, str], ...]) -> tuple[tuple[str, ...], ...]:
    group = {alias: {alias} for alias in aliases}
    for a, b in meetings:
        if group[a] is not group[b]:
            group[a] |= group[b]
            for alias in group[b]:
                group[alias] = group[a]
    ordered: list[tuple[str, ...]] = []
    for alias in aliases:
        members = tuple(a for a in aliases if a in group[alias])
        if members not in ordered:
            ordered.append(members)
    return tuple(ordered)


def _fold(aliases: tuple[str, ...], labels: dict[str, set[object]]) -> tuple[tuple[str, str], ...] | None:
    """GYO reduction: take away ears, streams whose shared labels all lie in one other stream."""
    left = {alias: set(labels[alias]) for alias in aliases}
    edges: list[tuple[str, str]] = []
    while len(left) > 1:
        for alias, own in left.items():
            others = [other for other in left if other != alias]
            shared = {label for label in own if any(label in left[other] for other in others)}
            if not shared:
                del left[alias]
                break
            parent = next((other for other in others if shared <= left[other]), None)
            if parent is not None:
                edges.append((alias, parent))
                del left[alias]
                break
        else:
            return None
    return tuple(edges)


def _shape(
    aliases: tuple[str, ...],
    meetings: tuple[tuple[str, str], ...],
    many_one: tuple[ManyOne, ...],
    is_tree: bool,
) -> Shape:
    if len(aliases) == 1:
        return Shape.SINGLE
    if is_tree:
        return Shape.TREE
    arrows = {(m.child, m.parent) for m in many_one}
    if all(pair in arrows or pair[::-1] in arrows for pair in meetings) and _has_no_cycle(aliases, arrows):
        return Shape.DAG
    return Shape.CYCLIC


def _has_no_cycle(aliases: tuple[str, ...], arrows: set[tuple[str, str]]) -> bool:
    left = set(aliases)
    while left:
        sinks = {a for a in left if not any(child == a and parent in left for child, parent in arrows)}
        if not sinks:
            return False
        left -= sinks
    return True
