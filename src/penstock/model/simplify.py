"""Outer joins that are none: a WHERE, an ON or an EXISTS that rejects NULL may undo the NULLs that a join makes.

Say that a row of a part of FROM **matters** only if certain streams are there: those of conditions of WHERE and of
EXISTS that reject NULL at the top, and of windows of time, as no window holds a NULL; going down, those of the ON of
an inner join, and of the ON of a LEFT JOIN for its optional side. Where a stream of an optional side must be there,
the rows that lack it matter to nobody, and the join is an inner one on that side. Then the streams of a condition of
WHERE that rejects NULL meet in inner joins, and the condition joins the ON of the last: nothing is left in WHERE but
conditions on one stream, and those on several that a row may pass from which a stream is absent.

Joins are re-ordered so that a row which waits for its match has all the streams that may tell that none comes. An
inner join that does not name the optional side of an outer join below it is made first: (A LEFT B) JOIN C is
(A JOIN C) LEFT B. An optional side that is an outer join itself is taken apart: A LEFT (B LEFT C) is
(A LEFT B) LEFT C, if the ON of the upper join does not name C and that of the lower one rejects rows without B; so is
A FULL (B LEFT C). Windows count what stands together, in the order of the joins, so a query with one is left as it is
written.

Not decided: what opaque conditions reject, and what only the data rule out.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.model.predicates import Predicate, aliases_of, rejects_null
from penstock.model.query import Query
from penstock.model.relation import FromTree, Join, JoinKind, Leaf, leaves


def simplified(query: Query) -> Query:
    """The same query with as few outer joins as these rules show; an inner query as it is."""
    if query.is_inner:
        return query
    needed = _rejecting(query.where) | query.windowed
    for existence in query.existences:
        if not existence.negated:
            needed |= _rejecting(existence.condition) - {existence.source.alias}
    tree = _simplified(query.tree, needed)
    joined = tuple(p for p in query.where if len(aliases_of(p)) > 1 and rejects_null(p))
    for predicate in joined:
        tree = _lowered(tree, predicate)
    if all(source.window is None for source in query.all_sources):
        tree = _outer_last(_inner_first(tree))
    return query.with_block(replace(query.block, tree=tree, where=tuple(p for p in query.where if p not in joined)))


def _inner_first(tree: FromTree) -> FromTree:
    """Inner joins below the outer ones whose optional side they do not name."""
    if isinstance(tree, Leaf):
        return tree
    left, right = _inner_first(tree.left), _inner_first(tree.right)
    named = {alias for predicate in tree.on for alias in aliases_of(predicate)}
    if tree.kind is JoinKind.INNER:
        for outer, other in ((left, right), (right, left)):
            if not isinstance(outer, Join):
                continue
            if outer.kind is JoinKind.LEFT and named.isdisjoint(leaves(outer.right)):
                return replace(outer, left=_inner_first(Join(JoinKind.INNER, outer.left, other, tree.on)))
            if outer.kind is JoinKind.RIGHT and named.isdisjoint(leaves(outer.left)):
                return replace(outer, right=_inner_first(Join(JoinKind.INNER, outer.right, other, tree.on)))
    return Join(tree.kind, left, right, tree.on)


def _outer_last(tree: FromTree) -> FromTree:
    """Outer joins on the optional side of another above it, where the streams that they keep meet those above."""
    if isinstance(tree, Leaf):
        return tree
    sides = [_outer_last(tree.left), _outer_last(tree.right)]
    named = {alias for predicate in tree.on for alias in aliases_of(predicate)}
    for place, keeps_other in ((0, (JoinKind.RIGHT, JoinKind.FULL)), (1, (JoinKind.LEFT, JoinKind.FULL))):
        below = sides[place]
        if tree.kind not in keeps_other or not isinstance(below, Join):
            continue
        if below.kind not in (JoinKind.LEFT, JoinKind.RIGHT):
            continue
        kept, optional = (below.left, below.right) if below.kind is JoinKind.LEFT else (below.right, below.left)
        if named.isdisjoint(leaves(optional)) and not _rejecting(below.on).isdisjoint(leaves(kept)):
            sides[place] = kept
            above = _outer_last(Join(tree.kind, sides[0], sides[1], tree.on))
            outer = (above, optional) if below.kind is JoinKind.LEFT else (optional, above)
            return Join(below.kind, *outer, below.on)
    return Join(tree.kind, sides[0], sides[1], tree.on)


def _rejecting(predicates: tuple[Predicate, ...]) -> set[str]:
    return {alias for p in predicates if rejects_null(p) for alias in aliases_of(p)}


def _simplified(tree: FromTree, needed: set[str]) -> FromTree:
    if isinstance(tree, Leaf):
        return tree
    left, right = set(leaves(tree.left)), set(leaves(tree.right))
    kind = _kind(tree.kind, bool(needed & left), bool(needed & right))
    rejected = _rejecting(tree.on)
    matters_left = needed | rejected if kind in (JoinKind.INNER, JoinKind.RIGHT) else needed
    matters_right = needed | rejected if kind in (JoinKind.INNER, JoinKind.LEFT) else needed
    sides = _simplified(tree.left, matters_left & left), _simplified(tree.right, matters_right & right)
    return Join(kind, *sides, tree.on)


def _kind(kind: JoinKind, left_is_there: bool, right_is_there: bool) -> JoinKind:
    keeps_left = kind in (JoinKind.LEFT, JoinKind.FULL) and not right_is_there
    keeps_right = kind in (JoinKind.RIGHT, JoinKind.FULL) and not left_is_there
    if keeps_left and keeps_right:
        return JoinKind.FULL
    return JoinKind.LEFT if keeps_left else JoinKind.RIGHT if keeps_right else JoinKind.INNER


def _lowered(tree: FromTree, predicate: Predicate) -> FromTree:
    """The tree with a condition in the ON where its streams meet."""
    assert isinstance(tree, Join)
    if aliases_of(predicate) <= set(leaves(tree.left)):
        return replace(tree, left=_lowered(tree.left, predicate))
    if aliases_of(predicate) <= set(leaves(tree.right)):
        return replace(tree, right=_lowered(tree.right, predicate))
    return replace(tree, on=(*tree.on, predicate))
