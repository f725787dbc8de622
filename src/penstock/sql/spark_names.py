"""The name that Spark gives to an expression without one: `(a + b)`, `count(1)`, `upper(s)`.

Spark prints its own tree: every operator in parentheses, texts without quotes, columns without their alias, functions
by the name that was written, in lower case but for a few, and a cast as a whole by the name of what is cast. A field of
a column has the field's name alone, but inside of an expression its path, as has a field of anything else. What it
prints may depend on types: a day after a DATE is `date_add(d, 1)`. Known are the forms and functions below, of which
`tests/spark/test_spark_names.py` asks Spark one by one; of everything else the name is None, and the user has to give
one.

sqlglot makes `a % 2` of `mod(a, 2)`, so functions are read by their words, as aggregates are (`aggregate_calls.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from penstock.model.types import DataType, Kind
from penstock.sql.aggregate_calls import CALL, arguments_of, around, calls_in, mark_calls
from penstock.sql.tree import AggregateCall

TypeOf = Callable[[exp.Expr], DataType | None]
PathOf = Callable[[exp.Column], str]
"""A column and the fields inside it, without the alias."""
Read = Callable[[Sequence[Token]], exp.Expr]
"""The expression that some tokens are."""

_SIGNS: dict[type[exp.Expr], str] = {
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "div",
    exp.EQ: "=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
    exp.And: "AND",
    exp.Or: "OR",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
}
_PLAIN = frozenset(
    """abs add_months array ascii bround char_length coalesce concat concat_ws contains crc32 date_add date_diff
    date_format date_trunc datediff day dayofmonth dayofweek element_at greatest hash hour ifnull initcap instr last_day
    lcase least left length ln lower lpad ltrim make_date map md5 minute mod month named_struct nullif nvl nvl2 pow
    quarter regexp_extract repeat replace reverse right rint round second sha1 sha2 sign size split_part startswith
    substr substring timestamp_millis to_date to_timestamp translate trim ucase unix_millis upper weekofyear
    year""".split()  # noqa: SIM905
)
_CAPITAL = frozenset("floor ceil sqrt power exp log10 log2 cos sin tan degrees radians".split())  # noqa: SIM905
_FILLED_IN = {"split": (2, ", -1"), "regexp_replace": (3, ", 1"), "months_between": (2, ", true")}
"""Functions with so many arguments, and what Spark then shows of the others."""
_UNLIKE = {"substring": (2,), "substr": (2,), "datediff": (3,), "date_diff": (3,), "round": (1,), "bround": (1,)}
"""Functions that Spark names otherwise where they have so many arguments."""
_OPENING = (TokenType.L_PAREN, TokenType.COMMA)
_TYPED = ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ")
"""What makes the text behind it a literal."""
_KNOWN = _PLAIN | _CAPITAL | {*_FILLED_IN, "if"}
_AGGREGATES = {"array_agg": "collect_list"}
_MATCHES = ("rlike", "regexp", "regexp_like")
"""What Spark names otherwise where it is a function."""
_IN_ORDER = ("listagg", "string_agg", "percentile_cont")
_OF_NULLS = ("first", "first_value", "last", "last_value", "any_value")
_NUMBER = re.compile(r"(0|[1-9][0-9]*)(\.[0-9]+)?")


def spark_name(
    tokens: Sequence[Token], calls: Mapping[int, AggregateCall], read: Read, type_of: TypeOf, path_of: PathOf
) -> str | None:
    """The name of a column that is this expression, aggregates by where they start; None where it cannot be told."""
    return _Naming(tokens, calls, read, type_of, path_of).of_whole()


class _Naming:
    def __init__(
        self,
        tokens: Sequence[Token],
        calls: Mapping[int, AggregateCall],
        read: Read,
        type_of: TypeOf,
        path_of: PathOf,
    ) -> None:
        self.aggregates = calls
        self.read = read
        self.type_of = type_of
        self.path_of = path_of
        found = [*calls_in(tokens, functions=_KNOWN)]
        self.calls = [tokens[begin:end] for begin, end, _ in found]
        self.node = mark_calls(read(around(tokens, found)))
        self.is_one_text = not any(
            one.token_type is other.token_type is TokenType.STRING for one, other in pairwise(tokens)
        )

        before = pairwise([None, *tokens])
        self.is_signed = any(
            token is not None and token.token_type is TokenType.PLUS and (last is None or last.token_type in _OPENING)
            for last, token in before
        )
        self.has_typed_literal = any(
            other.start <= one.end or (other.token_type is TokenType.STRING and one.text.upper() in _TYPED)
            for one, other in pairwise(tokens)
        )
        self.matches_by_word = not any(
            one.text.lower() in _MATCHES and other.token_type is TokenType.L_PAREN for one, other in pairwise(tokens)
        )

    def of_whole(self) -> str | None:
        """A column that is cast is named as the column is."""
        if self.is_signed:
            return None
        node = self.node
        while isinstance(node, exp.Paren | exp.Cast) and not isinstance(node.this, exp.Literal):
            node = node.this
        base = node
        while isinstance(base, exp.Paren | exp.Dot):
            base = base.this
        is_column = isinstance(base, exp.Column) and CALL not in base.meta
        if is_column and self.node.find(exp.Cast) is not None and self.of(node) != node.name:
            return self.of(self.node)  # A field that is cast is an expression.
        return node.name if is_column else self.of(self.node)

    def of(self, node: exp.Expr) -> str | None:
        match node:
            case exp.Paren():
                return self.of(node.this)
            case exp.Column() if CALL in node.meta:
                return self._call(self.calls[node.meta[CALL]])
            case exp.Literal() if not self.is_one_text:
                return None
            case exp.Column() if not isinstance(node.this, exp.Star):
                return self.path_of(node)
            case exp.Dot(expression=exp.Identifier()):
                return self._made(f"{{}}.{node.name}", node.this)
            case exp.Bracket(expressions=[place]):
                return self._made("{}[{}]", node.this, place)
            case exp.Literal() if node.is_string:
                return str(node.name)
            case exp.Literal():
                return str(node.name) if _NUMBER.fullmatch(node.name) else None
            case exp.Boolean():
                return "true" if node.this else "false"
            case exp.Null():
                return "NULL"
            case exp.Neg(this=exp.Literal()):
                return self._made("-{}", node.this)
            case exp.Neg():
                return self._made("(- {})", node.this)
            case exp.Not(this=exp.Is(expression=exp.Null())):
                return self._made("({} IS NOT NULL)", node.this.this)
            case exp.Not():
                return self._made("(NOT {})", node.this)
            case exp.NEQ():
                return self._made("(NOT ({} = {}))", node.this, node.expression)
            case exp.Is(expression=exp.Null()):
                return self._made("({} IS NULL)", node.this)
            case exp.In() if node.expressions:
                choices = ", ".join("{}" for _ in node.expressions)
                return self._made(f"({{}} IN ({choices}))", node.this, *node.expressions)
            case exp.Between():
                return self._made("between({}, {}, {})", node.this, node.args["low"], node.args["high"])
            case exp.Like() if node.args.get("negate"):
                return self._made("(NOT {} LIKE {})", node.this, node.expression)
            case exp.Like():
                return self._made("{} LIKE {}", node.this, node.expression)
            case exp.RegexpLike() if self.matches_by_word:
                return self._made("RLIKE({}, {})", node.this, node.expression)
            case exp.ILike() if not node.args.get("negate"):
                return self._made("ilike({}, {})", node.this, node.expression)
            case exp.DPipe():
                return self._made("concat({}, {})", node.this, node.expression)
            case exp.Add() | exp.Sub():
                sign = "+" if isinstance(node, exp.Add) else "-"
                is_plain = self._is_of_numbers(node) or (sign == "-" and self._is_of_times(node))
                return self._made(f"({{}} {sign} {{}})", node.this, node.expression) if is_plain else None
            case exp.Case() if node.this is None:
                return self._case(node)
            case exp.Cast(this=exp.Literal()) if self.has_typed_literal:
                return None  # 2L is `2`, and DATE '2024-01-01' what it is: not CAST
            case exp.Cast():
                return self._made(f"CAST({{}} AS {node.to.sql(dialect='spark')})", node.this)
            case _ if type(node) in _SIGNS:
                return self._made(f"({{}} {_SIGNS[type(node)]} {{}})", node.this, node.expression)
            case _:
                return None

    def _made(self, form: str, *parts: exp.Expr | None) -> str | None:
        names = [self.of(part) if part is not None else None for part in parts]
        known = [name for name in names if name is not None]
        return form.format(*known) if len(known) == len(names) else None

    def _is_of_numbers(self, node: exp.Expr) -> bool:
        return self._is_number(node.this) and self._is_number(node.expression)

    def _is_number(self, node: exp.Expr) -> bool:
        if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Mod):
            return self._is_of_numbers(node)
        if isinstance(node, exp.Paren | exp.Neg):
            return self._is_number(node.this)
        kind = self._type(node)
        return kind is not None and kind.is_number

    def _is_of_times(self, node: exp.Expr) -> bool:
        kinds = [self._type(part) for part in (node.this, node.expression)]
        return all(kind is not None and kind.kind is Kind.TIMESTAMP for kind in kinds)

    def _type(self, node: exp.Expr) -> DataType | None:
        """Of a part that is a call as a whole, or holds none."""
        if CALL in node.meta:
            return self.type_of(self.read(self.calls[node.meta[CALL]]))
        return None if any(CALL in part.meta for part in node.find_all(exp.Column)) else self.type_of(node)

    def _case(self, node: exp.Case) -> str | None:
        whens = node.args["ifs"]
        otherwise = node.args.get("default")
        form = "CASE" + " WHEN {} THEN {}" * len(whens) + (" ELSE {}" if otherwise is not None else "") + " END"
        parts = [part for when in whens for part in (when.this, when.args["true"])]
        return self._made(form, *parts, *([otherwise] if otherwise is not None else []))

    def _call(self, tokens: Sequence[Token]) -> str | None:
        """An aggregate, or a function."""
        if tokens[0].start in self.aggregates:
            return self._aggregate(self.aggregates[tokens[0].start])
        name = tokens[0].text.lower()
        if any(token.token_type is TokenType.FROM for token in tokens):
            return None  # TRIM(BOTH 'x' FROM s)
        arguments = self._each(arguments_of(tokens))
        if arguments is None:
            return None
        inside = ", ".join(arguments)
        if len(arguments) in _UNLIKE.get(name, ()):
            return None
        if name == "if":
            return f"(IF({inside}))"
        if name in _CAPITAL:
            return f"{name.upper()}({inside})" if len(arguments) == 1 + (name == "power") else None
        if name in _FILLED_IN:
            most, filled = _FILLED_IN[name]
            return f"{name}({inside}{filled})" if len(arguments) == most else None
        return f"{name}({inside})"

    def _each(self, arguments: Iterable[Sequence[Token]]) -> list[str] | None:
        names = [_Naming(tokens, self.aggregates, self.read, self.type_of, self.path_of).name for tokens in arguments]
        known = [name for name in names if name is not None]
        return known if len(known) == len(names) else None

    @property
    def name(self) -> str | None:
        return self.of(self.node)

    def _aggregate(self, call: AggregateCall) -> str | None:
        arguments = self._each(code.tokens for code in call.arguments)
        if arguments is None or call.ignores_nulls or (call.name in _OF_NULLS and len(arguments) > 1):
            return None
        if call.ordering or call.name in _IN_ORDER:
            return None
        arguments += ["1"] if call.name == "percentile" else []
        name = _AGGREGATES.get(call.name, call.name)
        text = f"{name}({'DISTINCT ' if call.distinct else ''}{'1' if call.is_star else ', '.join(arguments)})"
        if call.where is None:
            return text
        where = self._each([call.where.tokens])
        return None if where is None else f"{text} FILTER (WHERE {where[0]})"
