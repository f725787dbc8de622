"""Jobs as scripts: each is parsed, and what it says is what the relation says."""

from __future__ import annotations

import pytest

import penstock
from penstock.frames.job_relations import (
    JobAggregate,
    JobColumn,
    JobDistinct,
    JobExpression,
    JobFilter,
    JobJoin,
    JobLeaf,
    JobLookup,
    JobProject,
    JobRelation,
    JobTable,
    JobUnion,
)
from penstock.frames.job_script import duration, script_of

ORDERS = JobLeaf(
    0,
    "orders",
    (
        JobColumn(1, "id", "BIGINT"),
        JobColumn(2, "amount", "DOUBLE"),
        JobColumn(3, "ts", "TIMESTAMP", 10_000),
        JobColumn(4, "note", "STRING"),
    ),
)
PAYMENTS = JobLeaf(1, "payments", (JobColumn(11, "id", "BIGINT"), JobColumn(12, "ts", "TIMESTAMP", 60_000)))
AGAIN = JobLeaf(0, "orders", tuple(JobColumn(c.number + 20, c.name, c.type, c.delay) for c in ORDERS.columns))


def text(spelt: str) -> JobExpression:
    """An expression in which `#7` is column 7."""
    return JobExpression(spelt.replace("#", "penstock_column_"))


SAME = text("#1 = #11")
SOON = text("#12 BETWEEN #3 AND #3 + INTERVAL '01' HOUR")


def joined(kind: str, *on: JobExpression, left: JobRelation = ORDERS, right: JobRelation = PAYMENTS) -> JobJoin:
    return JobJoin(kind, left, right, on or (SAME, SOON))


def test_a_join_of_two_streams() -> None:
    made = script_of(joined("INNER"), [1, 2, 11])
    assert made.outputs == ((1, "id"), (2, "amount"), (11, "id_2"))
    assert [(s.name, s.columns) for s in made.streams] == [
        ("orders", (("id", 0), ("amount", 1), ("ts", 2))),
        ("payments", (("id", 0), ("ts", 1))),
    ]
    assert made.text == (
        "CREATE STREAM orders (\n  id BIGINT,\n  amount DOUBLE,\n  ts TIMESTAMP,\n  EVENT TIME ts,\n"
        "  ORDERED BY ts WITHIN 10 SECONDS ON VIOLATION TRUST\n);\n\n"
        "CREATE STREAM payments (\n  id BIGINT,\n  ts TIMESTAMP,\n  EVENT TIME ts,\n"
        "  ORDERED BY ts WITHIN 1 MINUTE ON VIOLATION TRUST\n);\n\n"
        "SELECT orders.id AS id, orders.amount AS amount, payments.id AS id_2\n"
        "FROM orders\n  INNER JOIN payments ON (orders.id = payments.id) AND "
        "(payments.ts BETWEEN orders.ts AND orders.ts + INTERVAL '01' HOUR);\n"
    )


def test_a_stream_that_stands_twice_is_declared_once() -> None:
    join = joined("INNER", text("#1 = #21"), text("#23 - #3 BETWEEN INTERVAL '0' SECOND AND INTERVAL '5' SECOND"))
    made = script_of(JobJoin("INNER", ORDERS, AGAIN, join.on), [1, 24])
    assert [s.name for s in made.streams] == ["orders"]
    assert "INNER JOIN orders AS orders_2 ON (orders.id = orders_2.id)" in made.text
    assert made.streams[0].columns == (("id", 0), ("ts", 2), ("note", 3))


RELATIONS: dict[str, tuple[JobRelation, list[int], str]] = {
    "left": (joined("LEFT OUTER"), [1, 12], "bounded"),
    "right": (joined("RIGHT OUTER"), [1, 12], "bounded"),
    "full": (joined("FULL OUTER"), [1, 12], "bounded"),
    "semi": (joined("LEFT SEMI"), [1], "bounded"),
    "anti": (joined("LEFT ANTI"), [1, 3], "bounded"),
    "cross": (JobJoin("INNER", ORDERS, PAYMENTS, ()), [1, 12], "unbounded"),
    "condition above": (JobFilter(joined("INNER", SAME), (SOON,)), [1, 12], "bounded"),
    "filter below an outer join": (
        joined("LEFT OUTER", right=JobFilter(PAYMENTS, (text("#11 > 5L"),))),
        [1, 12],
        "bounded",
    ),
    "columns below an outer join": (
        JobJoin(
            "LEFT OUTER",
            ORDERS,
            JobProject(
                PAYMENTS,
                (
                    (JobColumn(31, "k", "BIGINT"), text("#11")),
                    (JobColumn(32, "t", "TIMESTAMP", 60_000), text("#12")),
                    (JobColumn(33, "one", "INT"), text("1")),
                ),
            ),
            (text("#1 = #31"), text("#32 = #3")),
        ),
        [1, 33],
        "bounded",
    ),
    "three streams": (
        JobJoin("INNER", joined("LEFT OUTER"), AGAIN, (text("#1 = #21"), text("#3 = #23"))),
        [1, 12, 24],
        "bounded",
    ),
    "right side of joins": (
        JobJoin("LEFT OUTER", AGAIN, joined("INNER"), (text("#1 = #21"), text("#3 = #23"))),
        [12, 24],
        "bounded",
    ),
    "groups": (
        JobAggregate(
            joined("INNER"),
            (text("window(#3, '5 minutes')"), text("#1")),
            (
                (JobColumn(40, "window", "STRUCT<start: TIMESTAMP, end: TIMESTAMP>"), text("window(#3, '5 minutes')")),
                (JobColumn(41, "n", "BIGINT"), text("count(1)")),
            ),
        ),
        [40, 41],
        "bounded",
    ),
    "distinct": (
        JobDistinct(JobProject(ORDERS, tuple((c, JobExpression.of(c)) for c in ORDERS.columns[2:]))),
        [3],
        "undecided",
    ),
    "union": (
        JobJoin(
            "INNER",
            JobUnion((ORDERS, AGAIN), ORDERS.columns),
            PAYMENTS,
            (SAME, SOON),
        ),
        [1, 12],
        "bounded",
    ),
}


@pytest.mark.parametrize("name", RELATIONS)
def test_what_is_written_is_a_script_with_the_columns_that_are_asked_for(name: str) -> None:
    relation, wanted, verdict = RELATIONS[name]
    made = script_of(relation, wanted)
    script = penstock.parse(made.text)
    assert {name for _, name in made.outputs} <= {o.name for o in script.queries[0].answer}
    assert penstock.check(script).verdict == verdict


def test_a_table_that_is_looked_into_is_read_from_a_view() -> None:
    rates = JobTable(1, "rates", (JobColumn(41, "id", "BIGINT"), JobColumn(42, "rate", "DOUBLE")))
    looked_up = JobLookup(
        "LEFT OUTER",
        joined("INNER"),
        rates,
        (
            text("#1 = #41"),
            text("#12 > #3"),
        ),
    )
    made = script_of(looked_up, [1, 42])
    assert "CREATE TABLE rates (id BIGINT, rate DOUBLE) USING view OPTIONS (name 'penstock_1_rates');" in made.text
    assert "  LEFT OUTER JOIN rates ON (orders.id = rates.id) AND (payments.ts > orders.ts);" in made.text
    assert [(view.view, view.table, view.columns) for view in made.views] == [("penstock_1_rates", 1, ("id", "rate"))]
    (query,) = penstock.parse(made.text).queries
    assert [output.name for output in query.outputs] == ["id", "rate"]
    asked = script_of(JobLookup("LEFT ANTI", JobFilter(ORDERS, (text("#2 > 1"),)), rates, (text("#1 = #41"),)), [1])
    assert penstock.check(penstock.parse(asked.text)).verdict == "bounded"


def test_every_column_tells_distinct_rows_apart() -> None:
    relation, wanted, _ = RELATIONS["distinct"]
    made = script_of(relation, wanted)
    assert made.outputs == ((3, "ts"),)
    assert "SELECT DISTINCT orders.ts AS ts, orders.note AS note" in made.text


def test_nothing_asked_of_a_side_leaves_it_one_column() -> None:
    made = script_of(JobJoin("INNER", ORDERS, JobLeaf(2, "plain", PAYMENTS.columns[:1]), ()), [1])
    assert made.streams[1].columns == (("id", 0),)


def test_names_that_are_no_words_and_names_that_stand_twice() -> None:
    odd = JobLeaf(
        0, "my stream", (JobColumn(1, "a b", "INT"), JobColumn(2, "A B", "INT"), JobColumn(3, "select", "INT"))
    )
    made = script_of(odd, [3, 2, 1])
    assert [o.name for o in penstock.parse(made.text).queries[0].answer] == ["select", "A B", "a b_2"]


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [(0, "0 DAYS"), (1, "1 MILLISECOND"), (1500, "1500 MILLISECONDS"), (60_000, "1 MINUTE"), (90_000, "90 SECONDS")],
)
def test_durations(milliseconds: int, said: str) -> None:
    assert duration(milliseconds) == said
