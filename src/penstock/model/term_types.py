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

from penstock.model.clauses import Aggregate, Formula, Output, TimeWindow
from penstock.model.expressions import Call, Cast, ColumnRef, Expression, Literal, Term
from penstock.model.functions import WINDOW_END, WINDOW_START, WINDOW_TIME
from penstock.model.names import quoted
from penstock.model.spans import Span, Unit
from penstock.model.types import DataType, Kind
from penstock.model.wider_types import MOST_DIGITS, NULL, Typed, moved_type, number_type, plain, widest
from penstock.model.window_columns import window_of

ColumnTypes = Callable[[ColumnRef], DataType | None]


_BOOLEAN, _INT, _BIGINT, _DOUBLE, _STRING, _BINARY, _DATE, _TIMESTAMP, _NTZ = (
    DataType.of(kind)
    for kind in (
        *(Kind.BOOLEAN, Kind.INT, Kind.BIGINT, Kind.DOUBLE, Kind.STRING, Kind.BINARY),
        *(Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ),
    )
)


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
    WINDOW_START: _TIMESTAMP,
    WINDOW_END: _TIMESTAMP,
    WINDOW_TIME: _TIMESTAMP,
}
"""Functions that always give one type, whatever they take."""

_COMMON = frozenset({"coalesce", "nvl", "ifnull", "greatest", "least"})
_OF_TEXT_OR_BYTES = frozenset({"substring", "substr", "left", "lpad", "rpad", "reverse"})
_WHOLE_PARTS = {"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DAYOFWEEK", "DOW", "DOY", "HOUR", "MINUTE"}


def is_nested(value: ColumnRef | Expression, column_type: ColumnTypes) -> bool:
    """Whether a value is known to be one of several: a struct, an array or a map, of which the core knows no order."""
    term = value.term if isinstance(value, Expression) else value
    kind = type_of(term, column_type)
    if kind is not None:
        return kind.kind in (Kind.ARRAY, Kind.MAP, Kind.STRUCT, Kind.VARIANT)
    return isinstance(term, Call) and term.function in ("struct", "array", "map")


def type_of(term: Term, column_type: ColumnTypes) -> DataType | None:
    """The type of an expression; None where it is not certain, and of NULL."""
    found = _type_of(term, column_type)
    return None if found is NULL else found


def common_type(types: Sequence[DataType | None]) -> DataType | None:
    """The type in which Spark compares or merges values of these types; None where that is not certain."""
    found = widest(list(types))
    return None if found is NULL else found


def output_type(output: Output | Formula, column_type: ColumnTypes) -> DataType | None:
    """The type of a column of an answer."""
    if isinstance(output, Formula):
        values = {str(value): Output("", value) for value in output.values}

        def type_in_group(ref: ColumnRef) -> DataType | None:
            if ref.alias:
                return column_type(ref)
            return output_type(values[ref.column], column_type) if ref.column in values else None

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
            return None if argument is None else DataType(Kind.ARRAY, f"ARRAY<{plain(argument).text}>")
        case "sum" | "avg" | "mean":
            return _total(function, argument)
        case _:
            return None


def _total(function: str, argument: DataType | None) -> DataType | None:
    if argument is None or not argument.is_number:
        return None
    if argument.precision is not None and argument.scale is not None:
        more, places = (10, 0) if function == "sum" else (4, 4)
        return DataType.decimal(min(argument.precision + more, MOST_DIGITS), min(argument.scale + places, MOST_DIGITS))
    return _BIGINT if function == "sum" and argument.is_integer else _DOUBLE


def _type_of(term: Term, column_type: ColumnTypes) -> Typed:
    match term:
        case ColumnRef():
            return column_type(term)
        case Literal(value=value):
            return _literal(value)
        case Cast(to=to):
            return None if to is None else plain(to)
        case Call(function="named_struct") if window_of(term) is not None:
            return _window_type(_TIMESTAMP, None)
        case Call(function=function, arguments=arguments) if function in _ALWAYS:
            return _ALWAYS[function]
        case Call(function=function, arguments=arguments):
            types = [_type_of(argument, column_type) for argument in arguments]
            return _call(function, arguments, [plain(t) if isinstance(t, DataType) else t for t in types])


def _literal(value: object) -> Typed:
    match value:
        case None:
            return NULL
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
    return DataType.decimal(precision, scale) if precision <= MOST_DIGITS else None


def _struct(names: tuple[Term, ...], types: list[Typed]) -> DataType | None:
    """A struct of named values."""
    fields = [
        f"{quoted(name.value)}: {kind}"
        for name, kind in zip(names, types, strict=True)
        if isinstance(name, Literal) and isinstance(name.value, str) and isinstance(kind, DataType)
    ]
    return DataType(Kind.STRUCT, f"STRUCT<{', '.join(fields)}>") if len(fields) == len(names) else None


def _call(function: str, arguments: tuple[Term, ...], types: list[Typed]) -> Typed:
    match function, types:
        case "interval", _:
            return DataType(Kind.INTERVAL, "INTERVAL")  # of what, its unit would say
        case (("+" | "-" | "*" | "/" | "%" | "mod" | "pmod"), [left, right]):
            return _arithmetic(function, arguments, left, right)
        case (("-" | "+" | "abs" | "negative" | "positive"), [DataType() as only]) if only.is_number:
            return only
        case (("&" | "|" | "^"), [DataType() as left, DataType() as right]) if left.is_integer and right.is_integer:
            return widest([left, right])
        case "~", [DataType() as only] if only.is_integer:
            return only
        case (("<<" | ">>"), [DataType() as only, _]) if only.is_integer:
            return widest([only, _INT])
        case (("ceil" | "ceiling" | "floor"), [DataType() as only]) if only.is_number:
            return _whole(only)
        case (("round" | "bround"), [DataType() as first, *_]) if first.is_number:
            return _rounded(first, arguments[1:])
        case "nullif", [first, _]:
            return first
        case "nvl2", [_, *others]:
            return widest(others)
        case "if", [_, only]:
            return only  # a branch of CASE
        case "if", [_, one, other]:
            return widest([one, other])
        case "case", _:
            return _case(arguments, types)
        case (("concat" | "||"), _):
            return _joined(types)
        case "named_struct", _:
            return _struct(arguments[::2], types[1::2])
        case (("extract" | "date_part"), [_, _]):
            return _part_of_time(arguments[0])
        case (("timestampadd"), [DataType() as moved, *_]):
            return moved if moved.kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ) else None
        case "[]", [DataType(kind=Kind.ARRAY) as whole, DataType() as place] if place.is_integer:
            return _element(whole)
        case "array", [_, *_]:
            common = widest(types)
            return DataType(Kind.ARRAY, f"ARRAY<{common}>") if isinstance(common, DataType) else None
        case (("datediff" | "date_diff"), _):
            return _INT if len(types) == 2 else _BIGINT
    if function in _COMMON:
        return widest(types)
    if function in _OF_TEXT_OR_BYTES and types and isinstance(types[0], DataType):
        return types[0] if types[0].kind in (Kind.STRING, Kind.BINARY) else None
    return None


def _element(array: DataType) -> DataType | None:
    """The type of what is in an array, if it has no parameters."""
    inside = array.text.strip()[len("ARRAY<") : -1].strip().upper()
    plain = inside in Kind.__members__ and inside not in ("DECIMAL", "ARRAY", "MAP", "STRUCT", "INTERVAL")
    return DataType.of(Kind(inside)) if plain else None


def _case(arguments: tuple[Term, ...], types: list[Typed]) -> Typed:
    """WHEN … THEN is an `if` of two arguments; before the first stands what is compared, after the last ELSE."""
    branches = [place for place, argument in enumerate(arguments) if is_branch(argument)]
    if not branches:
        return None
    return widest([*(types[place] for place in branches), *types[branches[-1] + 1 :]])


def is_branch(term: Term) -> bool:
    """Whether it is WHEN … THEN of a CASE."""
    return isinstance(term, Call) and term.function == "if" and len(term.arguments) == 2


def _joined(types: list[Typed]) -> Typed:
    known = [t for t in types if isinstance(t, DataType)]
    if None in types or any(t.kind in (Kind.ARRAY, Kind.MAP, Kind.STRUCT, Kind.VARIANT) for t in known):
        return None
    return _BINARY if known and all(t.kind is Kind.BINARY for t in known) and len(known) == len(types) else _STRING


def _part_of_time(unit: Term) -> Typed:
    name = unit.value.upper() if isinstance(unit, Literal) and isinstance(unit.value, str) else ""
    if name in ("SECOND", "SECONDS"):
        return DataType.decimal(8, 6)
    return _INT if name in _WHOLE_PARTS else None


def _whole(kind: DataType) -> DataType:
    if kind.precision is None or kind.scale is None:
        return _BIGINT
    return DataType.decimal(min(kind.precision - kind.scale + 1, MOST_DIGITS), 0) if kind.scale else kind


def _rounded(kind: DataType, places: tuple[Term, ...]) -> Typed:
    if kind.precision is None or kind.scale is None:
        return kind
    at = places[0] if places else Literal(0)
    if not isinstance(at, Literal) or not isinstance(at.value, int) or isinstance(at.value, bool) or at.value < 0:
        return None
    scale = min(kind.scale, at.value)
    return DataType.decimal(min(kind.precision - kind.scale + 1 + scale, MOST_DIGITS), scale)


def _arithmetic(function: str, arguments: tuple[Term, ...], left: Typed, right: Typed) -> Typed:
    if not isinstance(left, DataType) or not isinstance(right, DataType):
        # NULL takes the type of the other side, and dates have rules of their own.
        known = left if isinstance(left, DataType) else right
        is_null = NULL in (left, right) and isinstance(known, DataType) and known.is_number
        return number_type(function, known, known) if is_null and isinstance(known, DataType) else None
    if left.is_number and right.is_number:
        sides = [_beside(a, t, o) for a, t, o in zip(arguments, (left, right), (right, left), strict=True)]
        return number_type(function, *sides)
    return moved_type(function, left, right)


def _beside(argument: Term, kind: DataType, other: DataType) -> DataType:
    """A whole number that is written out is, beside a DECIMAL, as narrow as its digits."""
    if other.kind is Kind.DECIMAL and isinstance(argument, Literal) and isinstance(argument.value, int):
        return _decimal_of(Decimal(argument.value)) or kind
    return kind
