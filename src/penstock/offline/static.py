"""Static joins that must drop tuples (SHED 3): which to keep so that the most join results remain.

The join of two relations on equality is a union of complete bipartite graphs K(m, n), one for each key. Keeping p
nodes of one of them keeps the most edges where its two sides are kept as evenly as they allow (Lemma 1). `dp` is the
optimum of section 3.2, for tuples of either relation or for so many of each. `adg` keeps whole components by average
degree, `ndg` drops the nodes of the lowest degree from A, then from B as A's loss has left it: both within a factor of
2 (Theorems 1 and 2). For three relations and more the problem is NP-hard (Theorem 3), and `truncate_many` is the
m-approximation of 3.4.

Whoever may keep more than there is keeps all. Not decided: ties of the greedy methods go by the order given for `adg`
and `truncate_many`; `ndg` drops from the smaller component first.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import chain
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from penstock.errors import UsageError
from penstock.offline.arguments import Ints, one_of, whole_number

METHODS = ("dp", "adg", "ndg")
COARSE = 1024
"""Steps of average degree by which ADG finds the components that it need not sort."""


def truncate(
    pairs: Sequence[tuple[int, int]] | npt.NDArray[Any],
    keep: int | tuple[int, int],
    method: Literal["dp", "adg", "ndg"] = "dp",
) -> int:
    """The number of join results that remain when `keep` tuples are kept: of both relations, or (of A, of B)."""
    chosen = one_of("method", method, METHODS)
    sizes = _components(pairs, 2)
    of_each = not isinstance(keep, int | np.integer)
    if of_each and chosen == "adg":
        raise UsageError("adg keeps a number of tuples of both relations together", hint='for a pair use "ndg" or "dp"')
    if not of_each and chosen == "ndg":
        raise UsageError("ndg keeps so many tuples of A and so many of B", hint="give keep as the pair (keepA, keepB)")
    if of_each:
        keep_a, keep_b = (int(number) for number in _kept_of_each(keep, sizes))
        return _best_of_each(sizes, keep_a, keep_b) if chosen == "dp" else _by_node_degree(sizes, keep_a, keep_b)
    kept = min(whole_number("keep", keep, 0), int(sizes.sum()))
    return _best(sizes, kept) if chosen == "dp" else _by_average_degree(sizes, kept)


def truncate_many(components: Sequence[Sequence[int]] | npt.NDArray[Any], keep: Sequence[int]) -> int:
    """The results that remain of a join of several relations on one key, when `keep[i]` tuples of relation i are kept.

    A component is a key's number of tuples in each relation. Each relation drops, by itself, the tuples that are in
    the fewest results: the loss is at most as many times the least possible as there are relations.
    """
    sizes = _components(components, len(keep))
    if len(keep) < 2:
        raise UsageError("a join has two relations or more", hint="give keep a number for each relation")
    kept = _kept_of_each(keep, sizes)
    left = np.empty_like(sizes)
    for relation in range(len(keep)):
        degree = np.delete(sizes, relation, axis=1).prod(axis=1)
        left[:, relation] = _keep_last(sizes[:, relation], np.argsort(degree, kind="stable"), int(kept[relation]))
    return int(left.prod(axis=1).sum())


def _components(given: Sequence[Sequence[int]] | npt.NDArray[Any], width: int) -> Ints:
    try:
        if isinstance(given, np.ndarray):
            if given.ndim == 2 and given.shape[1] == width and given.dtype.kind in "iu" and not (given < 0).any():
                return given.astype(np.int64)
        elif set(map(len, given)) <= {width}:
            # It takes whole numbers only, in half the time that numpy needs, which was most of ADG's.
            packed = struct.pack(f"{width * len(given)}q", *chain.from_iterable(given))
            sizes = np.frombuffer(packed, dtype=np.int64).reshape(-1, width)
            if not (sizes < 0).any():
                return sizes
    except (TypeError, struct.error):
        pass  # said below, like every other way to be wrong
    raise UsageError(
        f"the components are no rows of {width} whole numbers, 0 or more",
        hint="give for each join key the number of its tuples in each relation",
    )


def _kept_of_each(keep: object, sizes: Ints) -> Ints:
    if not isinstance(keep, Sequence) or isinstance(keep, str) or len(keep) != sizes.shape[1]:
        raise UsageError(f"keep is {keep!r}", hint=f"give {sizes.shape[1]} numbers, one for each relation")
    numbers = [whole_number(f"keep[{place}]", number, 0) for place, number in enumerate(keep)]
    there = sizes.sum(axis=0)
    return np.array([min(number, int(total)) for number, total in zip(numbers, there, strict=True)], dtype=np.int64)


def _edges(m: int, n: int, kept: Ints) -> Ints:
    """Lemma 1: the most edges of K(m, n) that so many of its nodes keep."""
    smaller = np.minimum(kept // 2, min(m, n))
    return smaller * (kept - smaller)


def _best(sizes: Ints, keep: int) -> int:
    """Section 3.2: the most edges for each number of nodes, component by component."""
    best = np.zeros(keep + 1, dtype=np.int64)
    for m, n in sizes.tolist():
        edges = _edges(m, n, np.arange(min(m + n, keep) + 1))
        # Nodes that join nothing may be kept too, so keeping more never counts less, and 0 stands for "at most".
        before, best = best, best.copy()
        for kept in range(2, len(edges)):
            np.maximum(best[kept:], before[: keep + 1 - kept] + edges[kept], out=best[kept:])
    return int(best[keep])


def _best_of_each(sizes: Ints, keep_a: int, keep_b: int) -> int:
    """Section 3.2, the last remark: the same over the numbers kept of A and of B."""
    best = np.zeros((keep_a + 1, keep_b + 1), dtype=np.int64)
    for m, n in sizes.tolist():
        before, best = best, best.copy()
        for a in range(1, min(m, keep_a) + 1):
            for b in range(1, min(n, keep_b) + 1):
                reached = best[a:, b:]
                np.maximum(reached, before[: keep_a + 1 - a, : keep_b + 1 - b] + a * b, out=reached)
    return int(best[keep_a, keep_b])


def _by_average_degree(sizes: Ints, keep: int) -> int:
    """ADG: whole components from the highest average degree down, and the best part of the one that does not fit."""
    m, n = sizes[:, 0], sizes[:, 1]
    nodes, edges = m + n, m * n
    average = edges / np.maximum(nodes, 1)
    # Only the components that may be kept are sorted: those in the highest of some coarse steps that overflow `keep`.
    step = (average * (COARSE / max(1.0, average.max(initial=0.0)))).astype(np.int64)
    down_to = np.cumsum(np.bincount(step, weights=nodes)[::-1])
    least = len(down_to) - 1 - int(np.searchsorted(down_to, keep, side="right"))
    wanted = np.flatnonzero(step >= least)
    order = wanted[np.argsort(-average[wanted], kind="stable")]
    filled = np.cumsum(nodes[order])
    whole = int(np.searchsorted(filled, keep, side="right"))
    results = int(edges[order[:whole]].sum())
    if whole < len(order):
        rest = keep - (int(filled[whole - 1]) if whole else 0)
        part = order[whole]
        results += int(_edges(int(m[part]), int(n[part]), np.array(rest)))
    return results


def _by_node_degree(sizes: Ints, keep_a: int, keep_b: int) -> int:
    """NDG: a node of A has its component's n as degree; then B's nodes have what is left of m."""
    m, n = sizes[:, 0], sizes[:, 1]
    left_a = _keep_last(m, np.lexsort((m, n)), keep_a)
    left_b = _keep_last(n, np.lexsort((n, left_a)), keep_b)
    return int((left_a * left_b).sum())


def _keep_last(counts: Ints, order: Ints, keep: int) -> Ints:
    """How many of each are left when all but `keep` are dropped, in that order."""
    drop = int(counts.sum()) - keep
    before = np.cumsum(counts[order]) - counts[order]
    left = np.empty_like(counts)
    left[order] = counts[order] - np.clip(drop - before, 0, counts[order])
    return left
