"""What is known of Spark's functions by their names: which are deterministic, strict, random, or rise.

Names are in lower case, as they are written, aliases each by itself; operators by their sign. A function that stands
in no set is one of which nothing is known, so no verdict rests on it. Each set says what must hold of Spark's own
function of that name for every argument, in ANSI mode and outside it; an expression that fails ends the query and so
gives no value at all.
"""

from __future__ import annotations

_ARITHMETIC = frozenset({"+", "-", "*", "/", "%", "div", "mod", "&", "|", "^", "~", "||", "<<", ">>"})
_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">=", "like", "ilike", "rlike", "escape"})

_TEXT = frozenset(
    {"lower", "lcase", "upper", "ucase", "length", "char_length", "character_length", "len", "concat"}
    | {"substring", "substr", "trim", "ltrim", "rtrim", "btrim"}
)
_NUMBERS = frozenset({"abs", "ceil", "ceiling", "floor", "round"})
_CALENDAR = frozenset({"year", "month", "day", "dayofmonth"})

TIMES_OF_NUMBERS = {"timestamp_seconds": 1_000_000, "timestamp_millis": 1_000, "timestamp_micros": 1}
"""Functions that make a TIMESTAMP of a count of units since 1970: the length of one, in microseconds."""

WINDOW_START, WINDOW_END, WINDOW_TIME = "start of window", "end of window", "last moment of window"
"""The ends of the window that a time is in: of a time, a length and a shift (model/window_columns.py)."""

RISES_WITH_FIRST = frozenset(
    {"to_date", "to_timestamp", "to_timestamp_ltz", "to_timestamp_ntz", "try_to_date", "try_to_timestamp"}
    | {"timestamp", *TIMES_OF_NUMBERS, "date", "date_from_unix_date"}
    | {"unix_millis", "unix_micros", "unix_seconds", "unix_date", "unix_timestamp", "to_unix_timestamp"}
    | {"to_utc_timestamp", "from_utc_timestamp", "date_add", "date_sub", "add_months", "last_day", "trunc"}
    | {"date_trunc", "floor", "ceil", "ceiling", "round", "abs", "bigint", "int", "coalesce", "nvl", "ifnull"}
    | {WINDOW_START, WINDOW_END, WINDOW_TIME}
)
"""Functions that take ever larger values where their first argument does and the others are constants or rise too;
of date_trunc the first argument is the time, as the binder orders them.
"""

_TIMES = frozenset({*TIMES_OF_NUMBERS, WINDOW_START, WINDOW_END, WINDOW_TIME})

STRICT = _ARITHMETIC | _COMPARISONS | _TEXT | _NUMBERS | _CALENDAR | _TIMES | {"not"}
"""Functions that give NULL as soon as one argument is. Not among them: AND and OR, and BETWEEN, which is an AND."""

_OF_TEXTS = """initcap translate replace lpad rpad left right repeat reverse instr locate split_part substring_index
    regexp_replace regexp_extract startswith endswith contains md5 sha1 sha2 crc32 hash xxhash64 hex base64 ascii
    levenshtein soundex octet_length bit_length nvl2"""
_OF_TIMES = """date_trunc trunc to_date to_timestamp to_timestamp_ntz date_add date_sub add_months last_day next_day
    datediff date_diff timestampdiff timestampadd months_between date_format from_unixtime unix_timestamp
    to_unix_timestamp unix_seconds unix_millis unix_micros unix_date date_from_unix_date make_date quarter dayofweek
    weekday dayofyear weekofyear hour minute second extract date_part dayname monthname convert_timezone
    make_timestamp"""
_OF_NUMBERS = "pmod bround sqrt cbrt exp ln log10 log2 pow power sign signum degrees radians positive negative"
_OF_ARRAYS = """array split get element_at try_element_at size cardinality array_contains array_join array_distinct
    array_position array_max array_min sort_array slice map_keys map_values named_struct struct get_json_object"""
MORE_DETERMINISTIC = frozenset(f"{_OF_TEXTS} {_OF_TIMES} {_OF_NUMBERS} {_OF_ARRAYS}".split())
"""Functions of which no more is said than that they give the same value for the same arguments."""

AROUND_TIMES = frozenset({"ts_or_ds_to_date", "time_str_to_time"})
"""What the parser puts around the time that `year`, `date_format` and their like take: no functions of Spark's."""

DETERMINISTIC = (
    STRICT
    | MORE_DETERMINISTIC
    | AROUND_TIMES
    | {
        *("and", "or", "xor", "<=>", "is null", "is not null", "in", "between", "case", "if"),
        *("coalesce", "nvl", "ifnull", "greatest", "least", "nullif", "interval", "field", "[]"),
        *("concat_ws", "from_utc_timestamp", "to_utc_timestamp"),
    }
)
"""Functions that give the same value for the same arguments."""

RANDOM = frozenset({"rand", "randn", "random", "randstr", "uniform", "uuid", "shuffle", "monotonically_increasing_id"})
"""Functions that are known to give another value each time; Spark finds what is not known here."""
