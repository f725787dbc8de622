"""Expressions that the core evaluates itself, exactly as Spark does: a typed tree, or nothing at all.

A condition over several streams is tested on rows that have met. Where a match decides (outer joins, EXISTS), and
before groups are made, no Spark is at hand: so the core evaluates it. It can what Arrow and Spark are known to agree
on: comparisons of one type (numbers of any, in the type that Spark would compare them in), AND, OR and NOT with three
values, NULL tests, `<=>`, IN, BETWEEN, CASE, if, coalesce, nullif, greatest and least, arithmetic of whole numbers and
floats, casts of whole numbers to wider ones, `||` and concat, times with lengths of time, the window that a time is in.
`tests/spark/test_core_terms.py` asks Spark the same.

Left out, so that the answer is None: arithmetic of decimals, mixtures that Spark compares only after it read a text or
a zone, CHAR(n) and collations, and every other function.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal

from penstock.model import functions
from penstock.model.expressions import Call, Cast, ColumnRef, Literal, Term
from penstock.model.spans import Span
from penstock.model.term_types import ColumnTypes, common_type, is_branch, type_of
from penstock.model.types import DataType, Kind
from penstock.records import record


@record
class CoreTerm:
    """A column, a literal, or an operation over others; `type` is Spark's of its value."""

    operation: str
    type: str
    arguments: tuple[CoreTerm, ...] = ()
    column: ColumnRef | None = None
    value: str | None = None
    """The text of a literal; None is NULL."""


_COMPARED = frozenset({"=", "<>", "<", "<=", ">", ">=", "<=>"})
_BOOLEAN, _STRING = DataType.of(Kind.BOOLEAN), DataType.of(Kind.STRING)
_WHOLE = (Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT)
"""Each holds the values of those before it."""
_ORDERED = frozenset({Kind.STRING, Kind.BINARY, Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ, Kind.INTERVAL})
_INTERVAL = DataType(Kind.INTERVAL, "INTERVAL DAY TO SECOND")


def core_term(term: Term, column_type: ColumnTypes) -> CoreTerm | None:
    """The expression as the core evaluates it; None where it cannot."""
    return _Reader(column_type).read(term)


class _Reader:
    def __init__(self, column_type: ColumnTypes) -> None:
        self._column_type = column_type

    def read(self, term: Term) -> CoreTerm | None:
        match term:
            case ColumnRef():
                kind = self._column_type(term)
                return None if kind is None or not _is_known(kind) else CoreTerm("column", _text(kind), column=term)
            case Literal(value=value):
                return _literal(value)
            case Cast(value=Literal(value=None), to=DataType() as kind):
                return CoreTerm("literal", _text(kind)) if _is_known(kind) else None
            case Cast(value=Literal(value=str() as text), to=DataType(kind=Kind.DATE)):
                return CoreTerm("literal", "DATE", value=text) if _is_day(text) else None
            case Cast(value=inner, to=DataType(kind=wide) as kind) if wide in _WHOLE:
                read = self.read(inner)
                fits = read is not None and read.type in [str(one) for one in _WHOLE[: _WHOLE.index(wide) + 1]]
                return _converted(read, kind) if read is not None and fits else None
            case Cast():
                return None
            case Call(function=function, arguments=arguments):
                return self._call(term, function, arguments)

    def _all(self, terms: Sequence[Term]) -> list[CoreTerm] | None:
        found = [self.read(term) for term in terms]
        return None if None in found else [term for term in found if term is not None]

    def _call(self, term: Call, function: str, arguments: tuple[Term, ...]) -> CoreTerm | None:
        match function, arguments:
            case "case", _:
                return self._case(arguments)
            case "if", (condition, one, other):
                return self._chosen([(condition, one)], other)
            case "nullif", (one, other):
                return self._chosen([(Call("=", (one, other)), Literal(None))], one)
            case "between", (own, low, high):
                return self.read(Call("and", (Call(">=", (own, low)), Call("<=", (own, high)))))
            case "in", (own, *others):
                return self.read(Call("or", tuple(Call("=", (own, other)) for other in others)))
        given = self._all(arguments)
        if given is None:
            return None
        match function, given:
            case (("and" | "or" | "not"), _):
                return CoreTerm(function, "BOOLEAN", tuple(given)) if all(map(_is_boolean, given)) else None
            case (("is null" | "is not null"), [only]):
                return CoreTerm(function, "BOOLEAN", (only,))
            case (("coalesce" | "nvl" | "ifnull"), [_, *_]):
                return self._merged("coalesce", arguments, given)
            case (("greatest" | "least"), [_, _, *_]):
                found = self._merged(function, arguments, given)
                return found if found is not None and found.type not in ("FLOAT", "DOUBLE", "BOOLEAN") else None
            case (("concat" | "||"), _):
                return CoreTerm("concat", "STRING", tuple(given)) if all(t.type == "STRING" for t in given) else None
            case ((functions.WINDOW_START | functions.WINDOW_END | functions.WINDOW_TIME), [time, _, _]):
                return CoreTerm(function, time.type, tuple(given)) if time.type == "TIMESTAMP" else None
            case _ if function in _COMPARED and len(given) == 2:
                return self._compared(function, arguments, given)
        return self._arithmetic(term, function, given)

    def _compared(self, function: str, arguments: tuple[Term, ...], given: list[CoreTerm]) -> CoreTerm | None:
        if given[0].value is None and given[0].operation == "literal":
            given[0] = CoreTerm("literal", given[1].type)
        kinds = [self._kind(a, t) for a, t in zip(arguments, given, strict=True)]
        common = _comparable(kinds, ordered=function not in ("=", "<>", "<=>"))
        if common is None:
            return None
        return CoreTerm(function, "BOOLEAN", tuple(_converted(t, common) for t in given))

    def _kind(self, term: Term, read: CoreTerm) -> DataType | None:
        """The type of what was read; NULL has that which stands beside it."""
        if read.operation == "literal" and read.value is None:
            return None
        return _INTERVAL if read.type.startswith("INTERVAL") else type_of(term, self._column_type)

    def _merged(self, function: str, arguments: tuple[Term, ...], given: list[CoreTerm]) -> CoreTerm | None:
        common = _comparable([self._kind(a, t) for a, t in zip(arguments, given, strict=True)], ordered=False)
        if common is None:
            return None
        return CoreTerm(function, _text(common), tuple(_converted(t, common) for t in given))

    def _case(self, arguments: tuple[Term, ...]) -> CoreTerm | None:
        branches = [place for place, argument in enumerate(arguments) if is_branch(argument)]
        if not branches:
            return None
        compared = arguments[: branches[0]]
        chosen: list[tuple[Term, Term]] = []
        for place in branches:
            branch = arguments[place]
            assert isinstance(branch, Call)
            condition, value = branch.arguments
            chosen.append((Call("=", (compared[0], condition)) if compared else condition, value))
        rest = arguments[branches[-1] + 1 :]
        return self._chosen(chosen, rest[0] if rest else Literal(None))

    def _chosen(self, branches: list[tuple[Term, Term]], otherwise: Term) -> CoreTerm | None:
        conditions = self._all([condition for condition, _ in branches])
        terms = [*(value for _, value in branches), otherwise]
        values = self._all(terms)
        if conditions is None or values is None or not all(map(_is_boolean, conditions)):
            return None
        common = _comparable([self._kind(a, t) for a, t in zip(terms, values, strict=True)], ordered=False)
        if common is None:
            return None
        made = [_converted(value, common) for value in values]
        parts = [part for pair in zip(conditions, made, strict=False) for part in pair]
        return CoreTerm("case", _text(common), (*parts, made[-1]))

    def _arithmetic(self, term: Call, function: str, given: list[CoreTerm]) -> CoreTerm | None:
        if function in ("+", "-") and len(given) == 2 and any(t.type.startswith("INTERVAL") for t in given):
            return _moved(function, given)
        result = type_of(term, self._column_type)
        if result is None or any(t.type.startswith("DECIMAL") or not _is_number(t.type) for t in given):
            return _apart(function, given)
        is_known = function in ("+", "-", "*", "/", "%", "div") and len(given) == 2
        if not (is_known or (function in ("-", "abs") and len(given) == 1)):
            return None
        if result.kind in (Kind.FLOAT, Kind.DOUBLE) and function == "%":
            return None
        return CoreTerm(function, result.text, tuple(_converted(t, result) for t in given))


def _moved(function: str, given: list[CoreTerm]) -> CoreTerm | None:
    """A time moved by a length of time, or two lengths added up."""
    one, other = given
    if function == "+" and one.type.startswith("INTERVAL"):
        one, other = other, one
    if one.type.startswith("INTERVAL"):
        return CoreTerm(f"lengths {function}", _INTERVAL.text, (one, other))
    whole_days = one.type == "DATE" and other.type == "INTERVAL DAY"
    if one.type not in ("TIMESTAMP", "TIMESTAMP_NTZ") and not whole_days:
        return None
    return CoreTerm(f"time {function}", one.type, (one, other))


def _apart(function: str, given: list[CoreTerm]) -> CoreTerm | None:
    """The length between two times of one type."""
    if function != "-" or len(given) != 2 or given[0].type != given[1].type:
        return None
    kind = given[0].type
    if kind not in ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ"):
        return None
    return CoreTerm("between", "INTERVAL DAY" if kind == "DATE" else _INTERVAL.text, tuple(given))


def _literal(value: object) -> CoreTerm | None:
    match value:
        case None:
            return CoreTerm("literal", "VOID")
        case bool():
            return CoreTerm("literal", "BOOLEAN", value="true" if value else "false")
        case int() | Decimal():
            kind = type_of(Literal(value), _no_columns)
            return (
                None
                if kind is None
                else CoreTerm("literal", kind.text, value=str(value) if isinstance(value, int) else format(value, "f"))
            )
        case Span(unit=unit) if unit is not None:
            kind = type_of(Literal(value), _no_columns)
            return None if kind is None else CoreTerm("literal", kind.text, value=str(value.ticks))
        case str():
            return CoreTerm("literal", "STRING", value=value)
        case _:
            return None


_no_columns: Callable[[ColumnRef], DataType | None] = lambda _: None  # noqa: E731 - a constant of a type


def _is_day(text: str) -> bool:
    try:
        return dt.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _comparable(kinds: Sequence[DataType | None], *, ordered: bool) -> DataType | None:
    """The type in which the core compares or merges values; None for NULL among the types is passed over."""
    known = [kind for kind in kinds if kind is not None]
    if not known:
        return _BOOLEAN
    if all(kind.kind is Kind.INTERVAL for kind in known):
        return _INTERVAL
    common = common_type(known)
    if common is None or not all(map(_is_known, known)):
        return None
    if common.is_number:
        return common
    if common.kind is Kind.BOOLEAN:
        return None if ordered else common
    # A DATE becomes a TIMESTAMP by the zone of the session.
    return common if common.kind in _ORDERED and all(kind.kind is common.kind for kind in known) else None


def _is_known(kind: DataType) -> bool:
    is_plain = not kind.is_padded and not kind.is_collated
    return is_plain and (kind.is_number or kind.kind in _ORDERED - {Kind.INTERVAL} or kind.kind is Kind.BOOLEAN)


def _text(kind: DataType) -> str:
    return "STRING" if kind.kind is Kind.STRING else kind.text


def _converted(term: CoreTerm, kind: DataType) -> CoreTerm:
    if term.operation == "literal" and term.value is None:
        return CoreTerm("literal", _text(kind))
    if term.type == _text(kind) or term.type.startswith("INTERVAL"):
        return term
    return CoreTerm("convert", _text(kind), (term,))


def _is_boolean(term: CoreTerm) -> bool:
    return term.type in ("BOOLEAN", "VOID")


def _is_number(text: str) -> bool:
    return text in ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE")
