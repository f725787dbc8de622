"""Where aggregates and keys of the groups stand in an expression: found by their words, however sqlglot reads them.

An aggregate is a call of one of Spark's aggregate functions, with what may follow it: `IGNORE NULLS`, `FILTER
(WHERE …)`, `WITHIN GROUP (…)`. A call with OVER is a window function, and none. What stands in a subquery is the
subquery's own. A key is a call that GROUP BY has in the same words, such as `upper(a)`, or an end of it: `window(ts, '1
hour').end`. Each is read by itself, and what stands around them is read with a name in the place of each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence, Set

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

CALL = "aggregate_call"
"""Where a column that stands for an aggregate or a key has the number of it."""
_STANDS_FOR = "__ps_aggregate_"

SPARK_AGGREGATES = frozenset(
    """any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate approx_top_k_combine
    array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg bitmap_or_agg bool_and bool_or
    collect_list collect_set collect_union corr count count_if count_min_sketch covar_pop covar_samp every first
    first_value grouping grouping_id histogram_numeric hll_sketch_agg hll_union_agg kll_merge_agg_bigint
    kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float kurtosis
    last last_value listagg max max_by mean measure median min min_by mode percentile percentile_approx
    percentile_cont percentile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy
    regr_syy schema_of_variant_agg skewness some std stddev stddev_pop stddev_samp string_agg sum
    theta_intersection_agg theta_sketch_agg theta_union_agg try_avg try_sum tuple_intersection_agg_double
    tuple_intersection_agg_integer tuple_sketch_agg_double tuple_sketch_agg_integer tuple_union_agg_double
    tuple_union_agg_integer var_pop var_samp variance""".split()  # noqa: SIM905 - a list would be a page
)
"""Spark's aggregate functions, those included that the language does not have."""

_NOT_NAMES = (TokenType.STRING, TokenType.IDENTIFIER, TokenType.NUMBER)


def calls_in(
    tokens: Sequence[Token], keys: Collection[tuple[str, ...]] = (), functions: Set[str] = frozenset()
) -> Iterator[tuple[int, int, bool]]:
    """From where to where each aggregate or key reaches that is in no other; and whether it is an aggregate.

    Calls of `functions` are taken for aggregates too.
    """
    place = 0
    while place < len(tokens) - 1:
        token = tokens[place]
        key = next((k for k in keys if words_of(tokens[place : place + len(k)]) == k), None)
        if token.token_type is TokenType.L_PAREN and _word(tokens, place + 1) in ("SELECT", "WITH"):
            place = call_end(tokens, place)
        elif key is not None:
            end = place + len(key)
            end += 2 if _word(tokens, end) == "." and _word(tokens, end + 1) in ("START", "END") else 0
            yield place, end, False
            place = end
        elif _is_call(tokens, place, functions):
            end = _with_what_follows(tokens, call_end(tokens, place + 1))
            if _word(tokens, end) != "OVER":
                yield place, end, True
            place = end
        else:
            place += 1


def words_of(tokens: Sequence[Token]) -> tuple[str, ...]:
    """What makes two texts the same, but for blanks and, outside of quotes, for case."""
    quoted = (TokenType.STRING, TokenType.IDENTIFIER)
    return tuple(t.text if t.token_type in quoted else t.text.lower() for t in tokens)


def is_one_call(tokens: Sequence[Token]) -> bool:
    """Whether these are a function with its arguments, and no more."""
    return len(tokens) > 2 and tokens[1].token_type is TokenType.L_PAREN and call_end(tokens, 1) == len(tokens)


def around(tokens: Sequence[Token], calls: Sequence[tuple[int, int, bool]]) -> list[Token]:
    """The tokens with one name in the place of each call."""
    found: list[Token] = []
    begin = 0
    for number, (first, end, _) in enumerate(calls):
        name = Token(TokenType.VAR, f"{_STANDS_FOR}{number}", start=tokens[first].start, end=tokens[end - 1].end)
        found += [*tokens[begin:first], name]
        begin = end
    return [*found, *tokens[begin:]]


def arguments_of(call: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """The tokens of each argument of a call."""
    depth, begin = 0, 2
    for place, token in enumerate(call):
        depth += (token.text in "([") - (token.text in ")]") if token.token_type is not TokenType.STRING else 0
        if (depth == 1 and token.token_type is TokenType.COMMA) or (depth == 0 and place > 1):
            if place > begin:
                yield call[begin:place]
            begin = place + 1
            if depth == 0:
                return


def mark_calls(node: exp.Expr) -> exp.Expr:
    """The expression around calls, each column that stands for one marked with its number."""
    node = node.transform(_as_field, copy=False)
    for column in node.find_all(exp.Column):
        if column.name.startswith(_STANDS_FOR):
            column.meta[CALL] = int(column.name.removeprefix(_STANDS_FOR))
    return node


def _as_field(node: exp.Expr) -> exp.Expr:
    """A name that stands for a call, with more after a dot, is a field of what the call gives: it names no stream."""
    if not isinstance(node, exp.Column) or not node.parts[0].name.startswith(_STANDS_FOR) or len(node.parts) == 1:
        return node
    return exp.Dot.build([exp.Column(this=node.parts[0]), *node.parts[1:]])


def _is_call(tokens: Sequence[Token], place: int, functions: Set[str]) -> bool:
    token = tokens[place]
    if token.token_type in _NOT_NAMES or tokens[place + 1].token_type is not TokenType.L_PAREN:
        return False
    before = tokens[place - 1] if place else None
    if before is not None and (before.token_type is TokenType.DOT or before.text.upper() in ("LIKE", "ILIKE")):
        return False  # `LIKE ANY (…)` is a comparison
    return token.text.lower() in SPARK_AGGREGATES or token.text.lower() in functions


def _with_what_follows(tokens: Sequence[Token], end: int) -> int:
    while True:
        if _word(tokens, end) in ("IGNORE", "RESPECT") and _word(tokens, end + 1) == "NULLS":
            end += 2
        elif _word(tokens, end) in ("IGNORE NULLS", "RESPECT NULLS"):
            end += 1
        elif _word(tokens, end) == "FILTER" and _word(tokens, end + 1) == "(":
            end = call_end(tokens, end + 1)
        elif _word(tokens, end) == "WITHIN" and _word(tokens, end + 1) == "GROUP":
            end = call_end(tokens, end + 2)
        elif _word(tokens, end) == "WITHIN GROUP":
            end = call_end(tokens, end + 1)
        else:
            return end


def _word(tokens: Sequence[Token], place: int) -> str | None:
    return tokens[place].text.upper() if place < len(tokens) else None


def call_end(tokens: Sequence[Token], opened: int) -> int:
    """After the parenthesis that closes the one at this place."""
    depth, end = 1, opened + 1
    while depth and end < len(tokens):
        kind = tokens[end].token_type
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
        end += 1
    return end
