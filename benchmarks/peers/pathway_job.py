"""Pathway's interval join of orders and payments: `python pathway_job.py DATA OUT`, with PATHWAY_THREADS=2.

Runs in the environment of the peer, so it imports nothing of ours. The files are read as streams that end, as fast as
they can be; rows that no row to come can meet are forgotten, by the behavior that its guide names for that.
"""

import sys

import pathway as pw

data, out = sys.argv[1:3]


class Order(pw.Schema):
    """What is read of an order."""

    number: str
    amount: float
    ts: str


class Payment(pw.Schema):
    """What is read of a payment."""

    order_id: str
    method: str
    fee: int
    ts: str


FORM = "%Y-%m-%dT%H:%M:%S.%fZ"
orders, payments = (
    pw.io.jsonlines.read(f"{data}/{name}", schema=schema, mode="static", json_field_paths=paths).with_columns(
        at=pw.this.ts.dt.strptime(FORM, contains_timezone=False)
    )
    # `id` is a name of its own there.
    for name, schema, paths in (("orders", Order, {"number": "/id"}), ("payments", Payment, None))
)
hour = pw.temporal.interval(pw.Duration(0), pw.Duration(hours=1))
joined = orders.interval_join(payments, orders.at, payments.at, hour, orders.number == payments.order_id)
pw.io.csv.write(joined.select(pw.left.number, pw.right.method, pw.right.fee), f"{out}/answer.csv")
pw.run(monitoring_level=pw.MonitoringLevel.NONE)
