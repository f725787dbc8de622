"""MEMORY's worked examples, by their numbers: Table I, and every example of sections 5 to 8.

Figures 1 and 3 are not in the text that we have; Examples 5.5 and 6.1 use queries built from what is said of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.analysis.finding import MemoryFinding
from penstock.analysis.memory import growing_copies, memory_finding, memory_witness
from penstock.analysis.synopsis_form import BucketColumn, Extreme, SynopsisForm, ValueLimits
from penstock.compile import load, parse
from penstock.explain.reason_words import each_told
from penstock.model.query import Query

TABLE_1 = {
    "q1": (True, False),
    "q2": (False, False),
    "q3": (True, True),
    "q4": (False, True),
    "q5": (False, False),
    "q6": (False, True),
    "q7": (True, True),
}
SCRIPT = Path(__file__).parents[1] / "golden" / "check" / "memory_table_1.sql"


def integers(streams: str) -> str:
    """`S(A, B); T(C)` as declarations."""
    declared = []
    for part in streams.split("; "):
        name, columns = part.rstrip(")").split("(")
        declared.append(f"CREATE STREAM {name} ({', '.join(f'{c} BIGINT' for c in columns.split(', '))});")
    return "".join(declared)


def read(streams: str, select: str) -> Query:
    return parse(f"{integers(streams)} {select};").queries[0]


def found(streams: str, select: str) -> MemoryFinding:
    return memory_finding(read(streams, select))


def kept(finding: MemoryFinding) -> dict[str, SynopsisForm]:
    return {synopsis.alias: synopsis for synopsis in finding.synopses}


@pytest.mark.parametrize("name", TABLE_1)
@pytest.mark.parametrize("kind", ["bag", "distinct"])
def test_table_1(name: str, kind: str) -> None:
    query = next(q for q in load(SCRIPT).queries if q.name == f"{name}_{kind}")
    assert memory_finding(query).bounded is TABLE_1[name][kind == "distinct"]


def test_example_5_5_min_and_max_references_of_three_streams() -> None:
    streams = "S1(A, B, C, D); S2(E, F, G); S3(H, I, J)"
    edges = "H < A AND G < C AND C < B AND G < B AND J < D AND E > 10 AND F > 10 AND F < 20 AND F < A"
    finding = found(streams, f"SELECT DISTINCT F FROM S1, S2, S3 WHERE {edges}")
    assert finding.bounded is False
    assert [text[:2] for text in each_told(finding.violates)] == ["C3", "C3"]
    assert "rows of S1" in each_told(finding.violates)[0]
    assert "rows of S3" in each_told(finding.violates)[1]
    assert "S2" in kept(finding), "MinRef(S2) = {G}: one class, so the least G stands for its bucket"
    assert any(e.column == "G" and not e.greatest for e in kept(finding)["S2"].extremes)


def test_example_5_7_counts_for_each_value_between_11_and_19() -> None:
    finding = found("S(A, B); T(C)", "SELECT A FROM S, T WHERE A < 20 AND A = C AND C > 10 AND B > 20")
    assert finding.bounded is True
    assert [(s.alias, s.rows, s.counted) for s in finding.synopses] == [("S", 9, True), ("T", 9, True)]
    column = kept(finding)["S"].columns[0]
    assert (column.column, column.limits) == ("A", ValueLimits(11, 19))


@pytest.mark.parametrize("distinct", ["", "DISTINCT "])
def test_example_5_8_an_endless_output_forces_every_value_to_be_remembered(distinct: str) -> None:
    query = read("S(A, B); T(C)", f"SELECT {distinct}A FROM S, T WHERE A > 10 AND B = C AND B = 10")
    assert each_told(memory_finding(query).violates) == (
        "C1: S.A is in the answer, and no constant limits it from above",
    )
    witness = memory_witness(query, 3)
    assert witness is not None
    assert witness.rows == tuple(("S", (("A", value), ("B", 10))) for value in (11, 12, 13))


def test_example_5_9_a_comparison_of_endless_columns_counts_every_set_of_rows() -> None:
    query = read("S(A, B); T(C)", "SELECT A FROM S, T WHERE A = 10 AND B < C AND B > 10 AND C > 10")
    assert each_told(memory_finding(query).violates) == (
        "C3: B < C compares S.B and T.C, and no constant limits them from above",
    )
    copies = growing_copies(query, 3)
    assert copies is not None
    assert copies.rows == tuple(("S", (("A", 10), ("B", value))) for value in (11, 13, 15))
    assert copies.probes == tuple((("T", (("C", value),)),) for value in (12, 14, 16))


def test_example_5_11_distinct_keeps_one_extreme_of_each_stream() -> None:
    finding = found("S(A, B); T(C)", "SELECT DISTINCT A FROM S, T WHERE A = 10 AND B < C AND B > 10 AND C > 10")
    assert finding.bounded is True
    assert finding.results == 1
    assert [(s.alias, s.rows, s.counted) for s in finding.synopses] == [("S", 1, False), ("T", 1, False)]
    assert kept(finding)["S"].extremes == (Extreme("B", greatest=False, strict=True, above=10),)
    assert kept(finding)["T"].extremes == (Extreme("C", greatest=True, strict=True, above=10),)


def test_example_5_12_two_comparisons_in_different_stretches_need_every_row() -> None:
    where = "A = 10 AND B > D AND C > E AND B > 10 AND C < 10 AND D > 10 AND E < 10"
    query = read("S(A, B, C); T(D, E)", f"SELECT DISTINCT A FROM S, T WHERE {where}")
    finding = memory_finding(query)
    assert each_told(finding.violates) == (
        "C3: B > D and C > E hold of different rows of S, so that no one row can stand for the others",
        "C3: B > D and C > E hold of different rows of T, so that no one row can stand for the others",
    )
    copies = growing_copies(query, 3)
    assert copies is not None
    upward = [dict(values)["B"] for _, values in copies.rows]
    downward = [dict(values)["C"] for _, values in copies.rows]
    assert upward == [12, 14, 16]
    assert downward == [9, 7, 5]


def test_example_6_1_two_comparisons_into_one_stream() -> None:
    finding = found(
        "S1(A, B, C, D); S2(E, F, G); S3(H, I, J)", "SELECT DISTINCT 1 AS one FROM S1, S2, S3 WHERE H < A AND G < C"
    )
    assert finding.bounded is False
    assert each_told(finding.violates) == (
        "C3: H < A and G < C hold of different rows of S1, so that no one row can stand for the others",
    )
    through_c = "SELECT DISTINCT 1 AS one FROM S1, S2, S3 WHERE H < A AND G < C AND H < C AND G < A"
    assert found("S1(A, B, C, D); S2(E, F, G); S3(H, I, J)", through_c).bounded is True


def test_examples_7_1_and_7_2_buckets_of_q7() -> None:
    finding = found("S(A, B, C); T(D, E)", "SELECT A FROM S, T WHERE B < D AND D > 10 AND B < 20 AND A = 10")
    constant = BucketColumn("A", 1, low=10, high=10, limits=ValueLimits(10, 10))
    below_20 = BucketColumn("B", 10, 1, 10, 19, limits=ValueLimits(None, 19))
    assert kept(finding)["S"] == SynopsisForm("S", (constant, below_20), counted=True)
    assert kept(finding)["S"].rows == 11, "C is in no condition and not given out, so it needs no bucket"


def test_example_7_4_the_greatest_of_the_least_of_three_columns() -> None:
    where = "B > F AND C > F AND D > F AND A = 10 AND E = A"
    finding = found("S(A, B, C, D); T(E, F)", f"SELECT DISTINCT A FROM S, T WHERE {where}")
    assert finding.bounded is True
    assert {e.column for e in kept(finding)["S"].extremes if e.greatest} == {"B", "C", "D"}
    assert all(e.greatest for e in kept(finding)["S"].extremes)
    assert [(e.column, e.greatest) for e in kept(finding)["T"].extremes] == [("F", False)]
    assert found("S(A, B, C, D); T(E, F)", f"SELECT A FROM S, T WHERE {where}").bounded is False


def test_example_8_1_a_stream_that_covers_itself_is_joined_no_more() -> None:
    where = "x.A = 10 AND x.A = y.A AND x.B = y.B AND x.B > 10"
    finding = found("S(A, B)", f"SELECT DISTINCT x.A FROM S AS x, S AS y WHERE {where}")
    assert finding.bounded is True
    assert kept(finding)["y"].covered_by == "x"
    assert kept(finding)["y"].rows == 0
    assert found("S(A, B)", f"SELECT x.A FROM S AS x, S AS y WHERE {where}").bounded is False


def test_theorem_8_5_one_stream_groups_must_be_bounded_and_so_must_values_that_are_kept() -> None:
    aggregates = {"count(*)": True, "sum(B)": True, "avg(B)": True, "min(B)": True, "max(B)": True}
    aggregates |= {"count(DISTINCT B)": False, "median(B)": False, "median(A)": True, "count(DISTINCT A)": True}
    for aggregate, bounded in aggregates.items():
        select = f"SELECT A, {aggregate} AS v FROM S WHERE A > 10 AND A < 20 GROUP BY A"
        assert found("S(A, B)", select).bounded is bounded, aggregate
        assert found("S(A, B)", f"SELECT A, {aggregate} AS v FROM S WHERE A > 10 GROUP BY A").bounded is False
    assert each_told(found("S(A, B)", "SELECT A, median(B) AS v FROM S WHERE A = 1 GROUP BY A").violates) == (
        "C2: median(S.B) needs every value of S.B, and no constant limits them",
    )


def test_example_8_7_a_sum_is_pushed_below_the_join() -> None:
    select = "SELECT A, C, sum(B) AS v FROM S, T WHERE A < 20 AND C < 20 AND A > 10 AND C > 10 GROUP BY A, C"
    finding = found("S(A, B); T(C)", select)
    assert (finding.bounded, finding.results) == (True, 81)
    assert kept(finding)["S"].aggregates == ("sum(S.B)",)
    assert [(s.alias, s.rows, s.counted) for s in finding.synopses] == [("S", 9, True), ("T", 9, True)]
    assert kept(finding)["T"].aggregates == ()


def test_theorem_8_6_with_its_erratum() -> None:
    join = "SELECT A, {} AS v FROM S, T WHERE A = 10 AND {} GROUP BY A"
    bounded = {
        ("max(B)", "B > C"): True,
        ("max(B)", "B < C"): False,
        ("min(B)", "B < C"): True,
        ("min(B)", "B > C"): False,
        ("max(D)", "B > C"): False,
        ("min(D)", "B < C"): False,
        ("max(D)", "D > C AND B > C"): False,
        ("max(D)", "D > C AND B > D"): True,
        ("sum(B)", "B < C"): False,
        ("count(DISTINCT A)", "B < C"): True,
        ("count(DISTINCT B)", "B < C"): False,
    }
    for (aggregate, condition), expected in bounded.items():
        finding = found("S(A, B, D); T(C)", join.format(aggregate, condition))
        assert finding.bounded is expected, (aggregate, condition, finding)


def test_erratum_means_and_medians_of_one_value_in_each_group_do_not_count_duplicates() -> None:
    for aggregate in ("avg(A)", "median(A)"):
        select = f"SELECT A, {aggregate} AS v FROM S, T WHERE A > 10 AND A < 20 AND B < C GROUP BY A"
        assert found("S(A, B); T(C)", select).bounded is True, aggregate
    select = "SELECT sum(A) AS v FROM S, T WHERE A = {} AND B < C"
    assert found("S(A, B); T(C)", select.format(0)).bounded is True
    assert found("S(A, B); T(C)", select.format(1)).bounded is False


def test_erratum_a_mean_does_not_depend_on_rows_that_multiply_all_its_values_alike() -> None:
    """Nothing ties T to S and U: the least C, the greatest A, and T's sum and count are enough. Not run, so a doubt."""
    select = "SELECT {} AS v FROM S, T, U WHERE A > C AND B < 5 AND B > 0{}"
    for aggregate in ("avg(B)", "median(B)"):
        finding = found("S(A); T(B); U(C)", select.format(aggregate, ""))
        assert finding.bounded is None, aggregate
        assert "do not depend on how many rows match" in each_told(finding.because)[0]
    assert found("S(A); T(B); U(C)", select.format("sum(B)", "")).bounded is False
    assert found("S(A); T(B, D); U(C)", select.format("avg(B)", " AND D < C")).bounded is False
    grouped = found("S(A); T(B, D)", "SELECT D, avg(B) AS v FROM S, T WHERE A < D GROUP BY D")
    assert (grouped.bounded, [text[:2] for text in each_told(grouped.violates)]) == (False, ["C1"]), (
        "in a group D has one value"
    )
