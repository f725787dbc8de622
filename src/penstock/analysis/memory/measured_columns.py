"""FLOAT and DOUBLE columns against constants: what is read of them though no value is told apart by them.

Spark compares such a column with a number as doubles, so a constant has a place on the line of the column, and between
two of them lie more values than anyone counts. MEMORY's buckets know no such places: to them these conditions are
filters, like those that only Spark reads. But what they leave is known. Conditions that leave nothing are found
(`unmet`), and a growing input takes whole numbers that pass (`whole_numbers`).

This is no domain: the numbers between two constants cannot be counted, so nothing here is ever finite, and only whether
anything is left is asked. The range of whole numbers among them is one of facts/values.py.

Preconditions: constants are exact (sql/constants.py); NaN lies above every number, as in Spark, so that no upper limit
passes it. Not decided: conditions that leave nothing only by way of comparisons between columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

from penstock.analysis.facts.truth import passes
from penstock.analysis.facts.values import EVERYTHING, Interval, meeting
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Bound, OneOf, Op, Predicate
from penstock.model.types import DataType, Kind


def is_measured(predicate: Predicate, kind_of: Callable[[ColumnRef], DataType | None]) -> bool:
    """Whether it compares a FLOAT or DOUBLE column with numbers."""
    if not isinstance(predicate, Bound | OneOf):
        return False
    kind = kind_of(predicate.column)
    return kind is not None and kind.kind in (Kind.FLOAT, Kind.DOUBLE)


def whole_numbers(predicates: Iterable[Predicate]) -> Interval:
    """The whole numbers that pass comparisons of one column with constants; IN is not looked at."""
    found = EVERYTHING
    for predicate in predicates:
        if isinstance(predicate, Bound) and isinstance(predicate.constant.value, int | Decimal):
            found = found.within(meeting(predicate.op, Decimal(predicate.constant.value)))
    return found


def named_numbers(predicate: Predicate) -> list[float]:
    """The only numbers that pass, where `=` or IN says so."""
    if isinstance(predicate, OneOf) or (isinstance(predicate, Bound) and predicate.op is Op.EQ):
        return [float(constant) for constant in _constants(predicate)]
    return []


def unmet(conditions: Sequence[tuple[Predicate, str]], equal: Mapping[ColumnRef, object]) -> tuple[str, ...]:
    """The texts of measured conditions on equal columns that no number meets; nothing if there are none such."""
    columns: dict[object, list[tuple[Predicate, str]]] = {}
    for predicate, text in conditions:
        ref = _column(predicate)
        columns.setdefault(equal.get(ref, ref), []).append((predicate, text))
    for left in columns.values():
        if _can_be_met([predicate for predicate, _ in left]):
            continue
        for each in tuple(left):
            without = [one for one in left if one is not each]
            if without and not _can_be_met([predicate for predicate, _ in without]):
                left.remove(each)
        return tuple(dict.fromkeys(text for _, text in left))
    return ()


def _can_be_met(predicates: Sequence[Predicate]) -> bool:
    return any(
        all(passes(predicate, {_column(predicate): place}) for predicate in predicates) for place in _places(predicates)
    )


def _column(predicate: Predicate) -> ColumnRef:
    assert isinstance(predicate, Bound | OneOf)
    return predicate.column


def _constants(predicate: Predicate) -> list[Decimal]:
    assert isinstance(predicate, Bound | OneOf)
    found = predicate.constants if isinstance(predicate, OneOf) else (predicate.constant,)
    return [Decimal(c.value) for c in found if isinstance(c.value, int | Decimal)]


def _places(predicates: Sequence[Predicate]) -> Iterator[Decimal]:
    """Every constant, and a number in every stretch between and beside them."""
    points = sorted({constant for predicate in predicates for constant in _constants(predicate)})
    yield points[0] - 1
    for point, after in zip(points, [*points[1:], points[-1] + 2], strict=True):
        yield point
        yield (point + after) / 2
