"""EXISTS and IN among other conditions: each row is in one case if the condition holds of it, and in none if not."""

from __future__ import annotations

import re
from itertools import product

import duckdb
import pytest

from penstock.sql.asked_conditions import AskedQuestion, Case, Decided, cases_of, conditions_of, formula_of
from penstock.sql.dialect import read_statements
from penstock.sql.source import SourceText
from penstock.sql.tree import Insert, Select

_E, _F = "EXISTS (SELECT 1 FROM t WHERE t.a = s.a)", "EXISTS (SELECT 1 FROM t WHERE t.b = s.b)"
_IN = "x IN (SELECT a FROM t)"


def _cases(condition: str) -> list[Case]:
    (insert,) = read_statements(SourceText(f"SELECT a FROM s WHERE {condition};", "<script>"))
    assert isinstance(insert, Insert)
    assert isinstance(insert.query.body, Select)
    (code,) = conditions_of(insert.query.body)
    formula = formula_of(code.node, code)
    assert formula is not None
    return list(cases_of(formula))


def _told(decided: Decided) -> str:
    atom = decided.atom
    if isinstance(atom, AskedQuestion):
        word = "NOT " if atom.written.negated else ""
        text = word + "".join(atom.words)[:6]
    else:
        text = ("NOT " if atom.denied else "") + " ".join(token.text for token in atom.code.tokens)
    return text if decided.holds else f"({text}) does not hold"


def test_plain_conditions_are_decided_first_and_ask_nothing() -> None:
    cases = [[_told(one) for one in case] for case in _cases(f"{_E} OR p OR q")]
    assert cases == [["p"], ["(p) does not hold", "q"], ["(p) does not hold", "(q) does not hold", "exists"]]


def test_what_stands_together_before_a_question_is_one_condition() -> None:
    assert [[_told(one) for one in case] for case in _cases(f"p OR q > 1 OR {_E}")] == [
        ["p OR q > 1"],
        ["(p OR q > 1) does not hold", "exists"],
    ]


def test_exists_and_not_exists_are_one_question() -> None:
    assert len(_cases(f"(p AND {_E}) OR (NOT p AND NOT {_E})")) == len(
        _cases(f"(p AND {_E}) OR (NOT p AND NOT ({_E}))")
    )
    assert len(_cases(f"{_E} OR NOT {_E}")) == 2


Row = dict[str, bool | None]


def _holds(decided: Decided, row: Row) -> bool:
    """Whether a part of a condition is decided so for a row."""
    atom = decided.atom
    if isinstance(atom, AskedQuestion):
        text = " ".join(atom.words)
        value, negated = row["i" if " in " in text else "e" if "t . a" in text else "f"], atom.written.negated
    else:
        (token,) = atom.code.tokens
        value, negated = row[token.text], atom.denied
    return (value is not None and value is not negated) is decided.holds


@pytest.mark.parametrize(
    "condition",
    [
        "p OR e",
        "NOT (p AND e)",
        "e OR f",
        "(p AND e) OR (q AND NOT f)",
        "NOT (p OR NOT (q AND i))",
        "i OR NOT (e OR q) OR p",
        "((p OR i) AND (q OR NOT i)) OR (e AND p)",
        "NOT (e AND NOT (i OR p)) OR (q AND NOT e)",
    ],
)
def test_a_row_is_in_one_case_where_the_condition_holds_and_in_none_elsewhere(condition: str) -> None:
    asked = {"e": _E, "f": _F, "i": _IN}
    cases = _cases(re.sub(r"\b[efi]\b", lambda found: asked[found[0]], condition))
    truths = product((True, False, None), (True, False, None), (True, False), (True, False), (True, False, None))
    for values in truths:
        row = dict(zip("pqefi", values, strict=True))
        columns = ", ".join(f"CAST({'NULL' if v is None else v} AS BOOLEAN) AS {name}" for name, v in row.items())
        ((wanted,),) = duckdb.execute(f"SELECT {condition} FROM (SELECT {columns})").fetchall()
        assert sum(all(_holds(one, row) for one in case) for case in cases) == (wanted is True), row
