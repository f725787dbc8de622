"""The transitive closure of equalities: which columns must be equal in every result.

`x = y AND y = z` says `x = z` too. Every analysis reasons over these classes and never over the predicates as written
(ERRATA, SAFETY: Theorems 1 to 4 are wrong without it).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Comparison, Op, Predicate


@dataclass(frozen=True)
class Equalities:
    """The equivalence classes of columns under a set of predicates; each class sorted, the classes too."""

    classes: tuple[tuple[ColumnRef, ...], ...]

    @classmethod
    def of(cls, predicates: Iterable[Predicate]) -> Equalities:
        """Close the equalities among the predicates; other predicates are passed over."""
        parent: dict[ColumnRef, ColumnRef] = {}

        def root(ref: ColumnRef) -> ColumnRef:
            while parent.setdefault(ref, ref) != ref:
                parent[ref] = parent[parent[ref]]
                ref = parent[ref]
            return ref

        for predicate in predicates:
            if isinstance(predicate, Comparison) and predicate.op is Op.EQ:
                parent[root(predicate.left)] = root(predicate.right)
        members: dict[ColumnRef, list[ColumnRef]] = {}
        for ref in parent:
            members.setdefault(root(ref), []).append(ref)
        return cls(tuple(sorted(tuple(sorted(refs)) for refs in members.values())))

    @cached_property
    def _index(self) -> dict[ColumnRef, int]:
        return {ref: number for number, refs in enumerate(self.classes) for ref in refs}

    def class_of(self, ref: ColumnRef) -> tuple[ColumnRef, ...]:
        """All columns that equal this one, itself included."""
        number = self._index.get(ref)
        return (ref,) if number is None else self.classes[number]

    def equal(self, left: ColumnRef, right: ColumnRef) -> bool:
        """Whether the two must be equal."""
        return left == right or right in self.class_of(left)
