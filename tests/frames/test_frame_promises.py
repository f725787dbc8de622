"""Promises as values, and in the script of a job."""

from __future__ import annotations

import pytest

import penstock
from penstock.errors import UsageError
from penstock.frames.frame_promises import FramePromise
from penstock.frames.job_relations import JobColumn, JobJoin, JobLeaf
from penstock.frames.job_script import JobPromise, script_of
from tests.frames.test_job_script import SAME

ORDERS = JobLeaf(
    0, "orders", (JobColumn(1, "id", "BIGINT"), JobColumn(2, "kind", "STRING"), JobColumn(3, "ts", "TIMESTAMP"))
)
PAYMENTS = JobLeaf(1, "payments", (JobColumn(11, "order_id", "BIGINT"), JobColumn(12, "ts", "TIMESTAMP", 5000)))

PRINTED: list[tuple[FramePromise, str]] = [
    (penstock.PrimaryKey("id", "a b"), "PRIMARY KEY (id, `a b`)"),
    (penstock.Ordered("ts", within="3 seconds"), "ORDERED BY ts WITHIN 3 SECONDS"),
    (penstock.Ordered("id", within=5, on_violation="fail"), "ORDERED BY id WITHIN 5 ROWS ON VIOLATION FAIL"),
    (penstock.Clustered("id", within="auto"), "CLUSTERED BY id WITHIN AUTO"),
    (penstock.Follows(None, "id", on="order_id", within="2 hours"), "FOLLOWS other (id) ON (order_id) WITHIN 2 HOURS"),
    (penstock.ForeignKey(None, "id", on=["o"], window=(-5, 0)), "FOREIGN KEY (o) REFERENCES other (id) WINDOW [-5, 0]"),
    (
        penstock.Cooccurs(None, "id", on="o", window=("-1 minute", "*")),
        "COOCCURS (o) AND other (id) WINDOW [-1 MINUTE, *]",
    ),
    (
        penstock.Punctuated("id", when="kind = 'end'", lifespan="5 hours"),
        "PUNCTUATED ON (id) WHEN kind = 'end' LIFESPAN 5 HOURS",
    ),
    (penstock.Check("price > 0"), "CHECK (price > 0)"),
    (penstock.StreamKey("call", spans=None, window=(0, "*")), "STREAM KEY (call) SPANS other WINDOW [0, *]"),
    (penstock.Virtual("call", "a b"), "call VIRTUAL, `a b` VIRTUAL"),
    (penstock.EventTime("ts", idle_after="2 hours"), "EVENT TIME ts IDLE AFTER 2 HOURS"),
    (penstock.ArrivesBy("seq", on_violation="fail"), "ARRIVES BY seq ON VIOLATION FAIL"),
    (penstock.PartsBy("partition"), "PARTS BY partition"),
]


@pytest.mark.parametrize(("promise", "text"), PRINTED, ids=[text.split("(")[0] for _, text in PRINTED])
def test_promises_print_as_the_language_has_them(promise: FramePromise, text: str) -> None:
    assert str(promise) == text


def test_promises_stand_in_the_declarations_of_their_streams() -> None:
    promises = [
        JobPromise(0, penstock.PrimaryKey("id")),
        JobPromise(0, penstock.Ordered("ts", within="3 seconds")),
        JobPromise(0, penstock.Punctuated("id", when="kind = 'end'")),
        JobPromise(1, penstock.Follows(None, "id", on="order_id", within="2 hours"), 0),
        JobPromise(1, penstock.Ordered("ts", within="1 second")),
    ]
    made = script_of(JobJoin("INNER", ORDERS, PAYMENTS, (SAME,)), [1], promises)
    assert "  kind STRING,\n" in made.text
    assert "  EVENT TIME ts,\n  PRIMARY KEY (id),\n  ORDERED BY ts WITHIN 3 SECONDS,\n  PUNCTUATED ON (id)" in made.text
    assert (
        "  EVENT TIME ts,\n  FOLLOWS orders (id) ON (order_id) WITHIN 2 HOURS,\n  ORDERED BY ts WITHIN 1 SECOND\n"
        in made.text
    )
    script = penstock.parse(made.text)
    assert len(script.streams[0].schemes) == 3
    found = {state.alias: state.finding.verdict for state in penstock.check(script).streams}
    assert found == {"orders": "unbounded", "payments": "bounded"}


def test_columns_are_named_as_strings() -> None:
    with pytest.raises(UsageError, match="PrimaryKey names its columns as strings"):
        penstock.PrimaryKey()


def test_clocks_parts_arrivals_and_virtual_columns_are_declared_too() -> None:
    promises = [
        JobPromise(0, penstock.EventTime("ts", idle_after="1 hour")),
        JobPromise(0, penstock.PartsBy("kind")),
        JobPromise(0, penstock.ArrivesBy("id")),
        JobPromise(0, penstock.Virtual("call")),
        JobPromise(0, penstock.StreamKey("call", spans=None, window=(0, "5 seconds")), 1),
        JobPromise(1, penstock.Virtual("call")),
    ]
    made = script_of(JobJoin("INNER", ORDERS, PAYMENTS, (SAME,)), [1], promises)
    orders, payments = penstock.parse(made.text).streams
    assert (orders.event_time, orders.parts_by, str(orders.idle_after)) == ("ts", "kind", "1 HOUR")
    assert orders.arrival is not None
    assert [column.name for one in (orders, payments) for column in one.columns if column.is_virtual] == ["call"] * 2
    assert orders.schemes[0].text == "STREAM KEY (call) SPANS payments WINDOW [0, 5 SECONDS]"
