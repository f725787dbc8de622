"""The type that Spark gives to an expression, as far as it is certain without Spark.

The rules are those of Spark 4 with ANSI on, and with TIMESTAMP as the type of `to_timestamp`. Known are columns,
literals, casts, arithmetic, comparisons, and the functions in the tables below; of the others, and wherever Spark would
first convert a text to something else, the answer is None. A type says nothing of NULLs. NULL itself has no type but
takes that of what stands beside it. Texts of a limited length are STRING as soon as something is done with them.

`tests/spark/test_term_types.py` asks Spark the same of expressions over columns of all types.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from enum import Enum
from functools import reduce

from penstock.model.clauses import Aggregate, Formula, Output, TimeWindow
from penstock.model.expressions import Call, Cast, ColumnRef, Expression, Literal, Term
from penstock.model.spans import Span, Unit
from penstock.model.types import DataType, Kind

ColumnTypes = Callable[[ColumnRef], DataType | None]


class _Null(Enum):
    """The type of NULL, which gives way to any other."""

    NULL = "VOID"


_Typed = DataType | _Null | None
_NULL = _Null.NULL

_BOOLEAN, _INT, _BIGINT, _DOUBLE, _STRING, _BINARY, _DATE, _TIMESTAMP, _NTZ = (
    DataType.of(kind)
    for kind in (
        *(Kind.BOOLEAN, Kind.INT, Kind.BIGINT, Kind.DOUBLE, Kind.STRING, Kind.BINARY),
        *(Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ),
    )
)

_WIDENING = (Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT)
_DIGITS = {Kind.TINYINT: 3, Kind.SMALLINT: 5, Kind.INT: 10, Kind.BIGINT: 20}
"""The digits of the DECIMAL that a whole number becomes beside a DECIMAL."""
_MOST_DIGITS = 38
_LEAST_SCALE = 6
"""Digits after the point that arithmetic keeps where a result would have more than 38 digits."""

_NAMES: dict[DataType, str] = {
    _BOOLEAN: """= <> < <= > >= <=> and or not xor like ilike rlike escape in between isnull isnotnull isnan startswith
        endswith contains regexp_like""",
    _INT: """length char_length character_length len octet_length bit_length ascii instr locate position str_position
        levenshtein hash year quarter month day dayofmonth dayofweek weekday dayofyear weekofyear hour minute second
        unix_date size cardinality""",
    _BIGINT: """div crc32 xxhash64 unix_timestamp to_unix_timestamp unix_millis unix_micros unix_seconds
        timestampdiff""",
    _DOUBLE: """sqrt cbrt exp ln log log10 log2 log1p expm1 pow power sin cos tan asin acos atan atan2 sinh cosh
        tanh degrees radians months_between rand randn random pi e""",
    _STRING: """lower lcase upper ucase trim ltrim rtrim btrim replace concat_ws md5 sha sha1 sha2 hex base64
        translate initcap repeat substring_index soundex format_string printf format_number chr char space uuid
        regexp_extract regexp_replace regexp_substr split_part date_format from_unixtime get_json_object""",
    _BINARY: "unhex unbase64",
    _DATE: """to_date date_add date_sub add_months last_day next_day trunc make_date date_from_unix_date current_date
        curdate""",
    _TIMESTAMP: """to_timestamp to_timestamp_ltz from_utc_timestamp to_utc_timestamp date_trunc current_timestamp
        now timestamp_seconds timestamp_millis timestamp_micros""",
    _NTZ: "to_timestamp_ntz localtimestamp",
    DataType(Kind.ARRAY, "ARRAY<STRING>"): "split",
}
_ALWAYS = {name: kind for kind, names in _NAMES.items() for name in names.split()} | {
    "is null": _BOOLEAN,
    "is not null": _BOOLEAN,
}
"""Functions that always give one type, whatever they take."""

_COMMON = frozenset({"coalesce", "nvl", "ifnull", "greatest", "least"})
_OF_TEXT_OR_BYTES = frozenset({"substring", "substr", "left", "lpad", "rpad", "reverse"})
_WHOLE_PARTS = {"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DAYOFWEEK", "DOW", "DOY", "HOUR", "MINUTE"}


def type_of(term: Term, column_type: ColumnTypes) -> DataType | None:
    """The type of an expression; None where it is not certain, and of NULL."""
    found = _type_of(term, column_type)
    return None if found is _NULL else found


def common_type(types: Sequence[DataType | None]) -> DataType | None:
    """The type in which Spark compares or merges values of these types; None where that is not certain."""
    found = _common(list(types))
    return None if found is _NULL else found


def output_type(output: Output | Formula, column_type: ColumnTypes) -> DataType | None:
    """The type of a column of an answer."""
    if isinstance(output, Formula):
        values = {str(value): Output("", value) for value in output.values}

        def type_in_group(ref: ColumnRef) -> DataType | None:
            return column_type(ref) if ref.alias else output_type(values[ref.column], column_type)

        return type_of(output.term, type_in_group)
    match output.value:
        case Aggregate(function=function, argument=argument):
            return aggregate_type(function, None if argument is None else _value_type(argument, column_type))
        case TimeWindow(column=column, end=end):
            return _window_type(column_type(column), end)
        case ColumnRef() | Expression() as value:
            return _value_type(value, column_type)


def _value_type(value: ColumnRef | Expression, column_type: ColumnTypes) -> DataType | None:
    return type_of(value.term if isinstance(value, Expression) else value, column_type)


def _window_type(clock: DataType | None, end: str | None) -> DataType | None:
    """Of the ends of a window, or of both as one value."""
    if clock is None:
        return None
    side = _BIGINT if clock.is_integer else _NTZ if clock.kind is Kind.TIMESTAMP_NTZ else _TIMESTAMP
    return side if end is not None else DataType(Kind.STRUCT, f"STRUCT<start: {side}, end: {side}>")


def aggregate_type(function: str, argument: DataType | None) -> DataType | None:
    """The type of an aggregate, by its name, over values of a type."""
    match function:
        case "count" | "count_if" | "approx_count_distinct":
            return _BIGINT
        case "bool_and" | "bool_or" | "every" | "some" | "any":
            return _BOOLEAN
        case (
            "median"
            | "percentile"
            | "stddev"
            | "stddev_samp"
            | "stddev_pop"
            | "std"
            | "variance"
            | "var_samp"
            | "var_pop"
        ):
            return _DOUBLE if argument is not None and argument.is_number else None
        case "corr" | "covar_pop" | "covar_samp" | "skewness" | "kurtosis":
            return _DOUBLE
        case "row_number":
            return _INT
        case "grouping":
            return DataType.of(Kind.TINYINT)
        case "grouping_id":
            return _BIGINT
        case "top":
            return argument
        case "min" | "max" | "first" | "first_value" | "last" | "last_value" | "any_value" | "mode":
            return argument
        case "max_by" | "min_by":
            return argument
        case "collect_list" | "collect_set" | "array_agg":
            return None if argument is None else DataType(Kind.ARRAY, f"ARRAY<{_plain(argument).text}>")
        case "sum" | "avg" | "mean":
            return _total(function, argument)
        case _:
            return None


def _total(function: str, argument: DataType | None) -> DataType | None:
    if argument is None or not argument.is_number:
        return None
    if argument.precision is not None and argument.scale is not None:
        more, places = (10, 0) if function == "sum" else (4, 4)
        return DataType.decimal(
            min(argument.precision + more, _MOST_DIGITS), min(argument.scale + places, _MOST_DIGITS)
        )
    return _BIGINT if function == "sum" and argument.is_integer else _DOUBLE


def _type_of(term: Term, column_type: ColumnTypes) -> _Typed:
    match term:
        case ColumnRef():
            return column_type(term)
        case Literal(value=value):
            return _literal(value)
        case Cast(to=to):
            return None if to is None else _plain(to)
        case Call(function=function, arguments=arguments) if function in _ALWAYS:
            return _ALWAYS[function]
        case Call(function=function, arguments=arguments):
            types = [_type_of(argument, column_type) for argument in arguments]
            return _call(function, arguments, [_plain(t) if isinstance(t, DataType) else t for t in types])


def _plain(kind: DataType) -> DataType:
    """Texts of a limited length are STRING to an expression."""
    return _STRING if kind.kind is Kind.STRING and not kind.is_collated else kind


def _literal(value: object) -> _Typed:
    match value:
        case None:
            return _NULL
        case bool():
            return _BOOLEAN
        case int():
            for kind, bits in ((_INT, 31), (_BIGINT, 63)):
                if -(2**bits) <= value < 2**bits:
                    return kind
            return _decimal_of(Decimal(value))
        case Decimal():
            return _decimal_of(value)
        case str():
            return _STRING
        case Span(unit=unit) if unit is not None:
            return DataType(Kind.INTERVAL, f"INTERVAL {'SECOND' if unit is Unit.MILLISECOND else unit.name}")
        case _:
            return None


def _decimal_of(value: Decimal) -> DataType | None:
    """The DECIMAL that holds just this number."""
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    precision = max(len(digits) + max(0, exponent), scale, 1)
    return DataType.decimal(precision, scale) if precision <= _MOST_DIGITS else None


def _call(function: str, arguments: tuple[Term, ...], types: list[_Typed]) -> _Typed:
    match function, types:
        case "interval", _:
            return DataType(Kind.INTERVAL, "INTERVAL")  # of what, its unit would say
        case (("+" | "-" | "*" | "/" | "%" | "mod" | "pmod"), [left, right]):
            return _arithmetic(function, arguments, left, right)
        case (("-" | "+" | "abs" | "negative" | "positive"), [DataType() as only]) if only.is_number:
            return only
        case (("&" | "|" | "^"), [DataType() as left, DataType() as right]) if left.is_integer and right.is_integer:
            return _common([left, right])
        case "~", [DataType() as only] if only.is_integer:
            return only
        case (("<<" | ">>"), [DataType() as only, _]) if only.is_integer:
            return _common([only, _INT])
        case (("ceil" | "ceiling" | "floor"), [DataType() as only]) if only.is_number:
            return _whole(only)
        case (("round" | "bround"), [DataType() as first, *_]) if first.is_number:
            return _rounded(first, arguments[1:])
        case "nullif", [first, _]:
            return first
        case "nvl2", [_, *others]:
            return _common(others)
        case "if", [_, only]:
            return only  # a branch of CASE
        case "if", [_, one, other]:
            return _common([one, other])
        case "case", _:
            return _case(arguments, types)
        case (("concat" | "||"), _):
            return _joined(types)
        case (("extract" | "date_part"), [_, _]):
            return _part_of_time(arguments[0])
        case (("timestampadd"), [DataType() as moved, *_]):
            return moved if moved.kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ) else None
        case "[]", [DataType(kind=Kind.ARRAY) as whole, DataType() as place] if place.is_integer:
            return _element(whole)
        case "array", [_, *_]:
            common = _common(types)
            return DataType(Kind.ARRAY, f"ARRAY<{common}>") if isinstance(common, DataType) else None
        case (("datediff" | "date_diff"), _):
            return _INT if len(types) == 2 else _BIGINT
    if function in _COMMON:
        return _common(types)
    if function in _OF_TEXT_OR_BYTES and types and isinstance(types[0], DataType):
        return types[0] if types[0].kind in (Kind.STRING, Kind.BINARY) else None
    return None


def _element(array: DataType) -> DataType | None:
    """The type of what is in an array, if it has no parameters."""
    inside = array.text.strip()[len("ARRAY<") : -1].strip().upper()
    plain = inside in Kind.__members__ and inside not in ("DECIMAL", "ARRAY", "MAP", "STRUCT", "INTERVAL")
    return DataType.of(Kind(inside)) if plain else None


def _case(arguments: tuple[Term, ...], types: list[_Typed]) -> _Typed:
    """WHEN … THEN is an `if` of two arguments; before the first stands what is compared, after the last ELSE."""
    branches = [place for place, argument in enumerate(arguments) if is_branch(argument)]
    if not branches:
        return None
    return _common([*(types[place] for place in branches), *types[branches[-1] + 1 :]])


def is_branch(term: Term) -> bool:
    """Whether it is WHEN … THEN of a CASE."""
    return isinstance(term, Call) and term.function == "if" and len(term.arguments) == 2


def _joined(types: list[_Typed]) -> _Typed:
    known = [t for t in types if isinstance(t, DataType)]
    if None in types or any(t.kind in (Kind.ARRAY, Kind.MAP, Kind.STRUCT, Kind.VARIANT) for t in known):
        return None
    return _BINARY if known and all(t.kind is Kind.BINARY for t in known) and len(known) == len(types) else _STRING


def _part_of_time(unit: Term) -> _Typed:
    name = unit.value.upper() if isinstance(unit, Literal) and isinstance(unit.value, str) else ""
    if name in ("SECOND", "SECONDS"):
        return DataType.decimal(8, 6)
    return _INT if name in _WHOLE_PARTS else None


def _whole(kind: DataType) -> DataType:
    if kind.precision is None or kind.scale is None:
        return _BIGINT
    return DataType.decimal(min(kind.precision - kind.scale + 1, _MOST_DIGITS), 0) if kind.scale else kind


def _rounded(kind: DataType, places: tuple[Term, ...]) -> _Typed:
    if kind.precision is None or kind.scale is None:
        return kind
    at = places[0] if places else Literal(0)
    if not isinstance(at, Literal) or not isinstance(at.value, int) or isinstance(at.value, bool) or at.value < 0:
        return None
    scale = min(kind.scale, at.value)
    return DataType.decimal(min(kind.precision - kind.scale + 1 + scale, _MOST_DIGITS), scale)


def _arithmetic(function: str, arguments: tuple[Term, ...], left: _Typed, right: _Typed) -> _Typed:
    if not isinstance(left, DataType) or not isinstance(right, DataType):
        # NULL takes the type of the other side, and dates have rules of their own.
        known = left if isinstance(left, DataType) else right
        is_null = _NULL in (left, right) and isinstance(known, DataType) and known.is_number
        return _numbers(function, known, known) if is_null and isinstance(known, DataType) else None
    if left.is_number and right.is_number:
        sides = [_beside(a, t, o) for a, t, o in zip(arguments, (left, right), (right, left), strict=True)]
        return _numbers(function, *sides)
    return _moved(function, left, right)


def _beside(argument: Term, kind: DataType, other: DataType) -> DataType:
    """A whole number that is written out is, beside a DECIMAL, as narrow as its digits."""
    if other.kind is Kind.DECIMAL and isinstance(argument, Literal) and isinstance(argument.value, int):
        return _decimal_of(Decimal(argument.value)) or kind
    return kind


def _numbers(function: str, left: DataType, right: DataType) -> _Typed:
    kinds = {left.kind, right.kind}
    if Kind.DECIMAL in kinds and not kinds & {Kind.FLOAT, Kind.DOUBLE}:
        return _decimals(function, left, right)
    if function == "/":
        return _DOUBLE
    return _common([left, right])


def _decimals(function: str, left: DataType, right: DataType) -> DataType:
    (p1, s1), (p2, s2) = _digits(left), _digits(right)
    match function:
        case "+" | "-":
            scale = max(s1, s2)
            return _fitted(max(p1 - s1, p2 - s2) + scale + 1, scale)
        case "*":
            return _fitted(p1 + p2 + 1, s1 + s2)
        case "/":
            scale = max(_LEAST_SCALE, s1 + p2 + 1)
            return _fitted(p1 - s1 + s2 + scale, scale)
        case _:
            scale = max(s1, s2)
            return _fitted(min(p1 - s1, p2 - s2) + scale, scale)


def _digits(kind: DataType) -> tuple[int, int]:
    if kind.precision is None or kind.scale is None:
        return _DIGITS[kind.kind], 0
    return kind.precision, kind.scale


def _fitted(precision: int, scale: int) -> DataType:
    """Beyond 38 digits those after the point give way, down to six of them."""
    if precision <= _MOST_DIGITS:
        return DataType.decimal(precision, scale)
    kept = max(_MOST_DIGITS - (precision - scale), min(scale, _LEAST_SCALE))
    return DataType.decimal(_MOST_DIGITS, kept)


def _moved(function: str, left: DataType, right: DataType) -> _Typed:
    """Times with lengths of time added or taken away, and their differences."""
    if function == "+" and right.is_instant:
        left, right = right, left
    if function not in ("+", "-") or not left.is_instant:
        return None
    if right.kind is Kind.INTERVAL:
        if left.kind is not Kind.DATE:
            return left
        return _DATE if right.text == "INTERVAL DAY" else _TIMESTAMP if right.text in _FINE_INTERVALS else None
    if left.kind is Kind.DATE and right.kind in (Kind.TINYINT, Kind.SMALLINT, Kind.INT):
        return _DATE
    if function == "-" and right.is_instant:
        is_days = left.kind is right.kind is Kind.DATE
        return DataType(Kind.INTERVAL, "INTERVAL DAY" if is_days else "INTERVAL DAY TO SECOND")
    return None


_FINE_INTERVALS = ("INTERVAL HOUR", "INTERVAL MINUTE", "INTERVAL SECOND", "INTERVAL DAY TO SECOND")


def _common(types: Sequence[_Typed]) -> _Typed:
    if not types or any(t is None for t in types):
        return None
    return reduce(_wider, types)


def _wider(left: _Typed, right: _Typed) -> _Typed:
    if left == right or right is _NULL:
        return left
    if left is _NULL:
        return right
    if left is None or right is None:
        return None
    left, right = _plain(left), _plain(right)
    if left == right:
        return left
    if left.is_integer and right.is_integer:
        return DataType.of(max(left.kind, right.kind, key=_WIDENING.index))
    kinds = {left.kind, right.kind}
    if left.is_number and right.is_number:
        if kinds & {Kind.FLOAT, Kind.DOUBLE}:
            return _DOUBLE
        (p1, s1), (p2, s2) = _digits(left), _digits(right)
        digits, scale = max(p1 - s1, p2 - s2) + max(s1, s2), max(s1, s2)
        return DataType.decimal(digits, scale) if digits <= _MOST_DIGITS else None
    if left.is_instant and right.is_instant:
        return _TIMESTAMP if Kind.TIMESTAMP in kinds else _NTZ
    return None
