"""What follows from a count: an aggregate as a value of the number of results of a group.

All that a rewrite knows of a group is how many results it has, n. `count(*)`, and count(x) of an x that is never NULL,
are n; `sum(c)` of a number c is c * n; `min`, `max` and `avg` of a number are that number; and so is every sum of
multiples of such values. Each rises or falls with n all the way, so from limits of n follow limits of it: `slope` says
how steeply.

The types are Spark's: the sum of a whole number is a BIGINT, that of a DECIMAL ten digits wider. That a counted x is
never NULL is asked of the declarations (`rewrite.py`). Not decided: sums of columns that the query or a declaration
holds to one value, and numbers with a suffix or an exponent.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from penstock.model.clauses import Aggregate, Formula
from penstock.model.expressions import Expression, Literal
from penstock.records import record

N = "{n}"
"""Stands for the number of results in the text of a value."""
_MOST_DIGITS, _LONG = 38, 18
"""Of a DECIMAL, and of a number that is a BIGINT whatever its digits are."""


@record
class CountValue:
    """A value as Spark's text over N, and by how much it grows with each result."""

    text: str
    slope: Fraction


def count_value(aggregate: Aggregate) -> CountValue | None:
    """The aggregate as a value of the number of results, if it is one; that what it counts is never NULL is taken."""
    if aggregate.function == "count":
        return CountValue(N, Fraction(1))
    number = _number(aggregate)
    if number is None:
        return None
    text, (digits, scale) = format(number, "f"), _digits(number)
    match aggregate.function:
        case "sum":
            kind = "BIGINT" if scale == 0 else f"DECIMAL({digits + 10}, {scale})"
            return CountValue(f"CAST({text} * {N} AS {kind})", Fraction(number))
        case "avg":
            kind = "DOUBLE" if scale == 0 else f"DECIMAL({digits + 4}, {scale + 4})"
            return CountValue(f"CAST({text} AS {kind})", Fraction(0))
        case "min" | "max":
            return CountValue(text, Fraction(0))
        case _:
            return None


def formula_value(formula: Formula) -> CountValue | None:
    """An expression over aggregates as such a value, if all of them are and it is linear in them."""
    values = {aggregate: count_value(aggregate) for aggregate in formula.aggregates}
    known = {aggregate: value for aggregate, value in values.items() if value is not None}
    if formula.terms is None or len(known) < len(values):
        return None
    text = formula.text({a: value.text if value.text == N else f"({value.text})" for a, value in known.items()})
    return CountValue(text, sum((by * known[aggregate].slope for aggregate, by in formula.terms), Fraction(0)))


def _number(aggregate: Aggregate) -> Decimal | None:
    """The number that an aggregate is of; None if it is of anything else, or has so many digits that types differ."""
    term = aggregate.argument.term if isinstance(aggregate.argument, Expression) else None
    if not isinstance(term, Literal) or isinstance(term.value, bool) or not isinstance(term.value, int | Decimal):
        return None
    number = Decimal(term.value)
    digits, scale = _digits(number)
    return number if digits <= (_LONG if scale == 0 else _MOST_DIGITS - 20) else None


def _digits(number: Decimal) -> tuple[int, int]:
    """How many digits Spark's DECIMAL of a number has, and how many of them after the point."""
    _, digits, exponent = number.as_tuple()
    scale = -int(exponent)
    return max(len(digits), scale), scale
