"""`penstock profile` on small data: what it finds, proposes, verifies and refuses; its declarations parse."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import penstock
from penstock.analysis.check import check_query
from penstock.cli import app
from penstock.explain.ink import Ink
from penstock.model.script import Script
from penstock.profile import run
from penstock.profile.as_json import profile_object
from penstock.profile.asking import ProfileQuestions
from penstock.profile.declaring import declaring
from penstock.profile.findings import Profile
from penstock.profile.replay import conditions_of, plans_of
from penstock.profile.run import profile_script
from penstock.profile.text import profile_report
from penstock.spark.profiling.progress import Progress
from penstock.sql import parse_constraint
from tests.spark.conftest import Bench

SCHEMA = pa.schema([("seq", pa.int64()), ("id", pa.int64()), ("ms", pa.int64()), ("kind", pa.string())])
STREAM = (
    "seq BIGINT, id BIGINT, ms BIGINT, kind STRING, "
    "ts TIMESTAMP AS (timestamp_millis(ms)), EVENT TIME ts, ARRIVES BY seq"
)
SCRIPT = f"""
CREATE STREAM orders ({STREAM}, PRIMARY KEY (id), CLUSTERED BY kind WITHIN 0 ROWS)
  USING parquet OPTIONS (path '{{data}}/orders') WHERE kind <> 'test';
CREATE STREAM payments ({STREAM}, ORDERED BY seq WITHIN 5 ROWS, STREAM KEY (id) SPANS orders)
  USING parquet OPTIONS (path '{{data}}/payments');
SELECT o.id, p.kind FROM orders AS o, payments AS p WHERE o.id = p.id AND p.kind <> 'void';
"""


def _profiled(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["profile", *arguments])


def _data(bench: Bench) -> None:
    """Orders with a new id each, a payment for each up to eight orders later; nothing else is kept."""
    chance = random.Random(7)
    orders: list[dict[str, Any]] = []
    payments: list[dict[str, Any]] = []
    for number in range(400):
        kind = "test" if number % 10 == 9 else chance.choice("xy")
        orders.append({"seq": 10 * number, "id": number, "ms": 1000 * number, "kind": kind})
        if kind != "test":
            due = number + chance.randint(0, 8)
            what = chance.choice(["card", "void"])
            payments.append({"seq": 10 * due + 5, "id": number, "ms": 1000 * due + 500, "kind": what})
    payments.sort(key=lambda row: row["seq"])
    for stream, rows in (("orders", orders), ("payments", payments)):
        half = len(rows) // 2
        for part in (rows[:half], rows[half:]):
            bench.write(stream, part, SCHEMA)


def test_what_the_data_keeps_is_proposed_largest_saving_first(
    bench: Bench, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    _data(bench)
    kept: list[Profile] = []

    def remembering(script: Script, progress: Progress, settings: Mapping[str, str]) -> Profile:
        kept.append(profile_script(script, progress, settings))
        return kept[-1]

    monkeypatch.setattr(run, "profile_script", remembering)
    script = bench.script(SCRIPT)
    done = _profiled(str(script), "--json", "--conf", "spark.sql.shuffle.partitions=3")
    assert done.exit_code == 0, done.stderr
    assert spark.conf.get("spark.sql.shuffle.partitions") == "3"
    found = json.loads(done.stdout)
    assert found["rows"] == {"orders": 360, "payments": 360}
    assert "measuring" in done.stderr
    savings = [p["saves"] for p in found["proposals"]]
    assert savings == sorted(savings, reverse=True)
    assert savings[0] > 0.5 * found["replayed"]["kept"]["mean"]
    assert found["proposals"][0]["kept"]["mean"] < found["replayed"]["kept"]["mean"]
    _declarations_are_read_back(found, script)
    _what_is_proposed_bounds_it(found, script)
    _declared_is_verified(found)
    _measures_are_right(found)
    (profile,) = kept
    text = " ".join(" ".join(profile_report(profile, Ink(10_000))).split())
    assert "declare, largest saving first" in text
    assert all(d in text for p in found["proposals"] for d in p["declarations"])
    assert "STREAM KEY (id) SPANS orders ON payments: not verified by profile" in text


def _declarations_are_read_back(found: dict[str, Any], file: Path) -> None:
    script = penstock.parse(file.read_text())
    texts = [d for p in found["proposals"] for d in p["declarations"]]
    texts += [d for p in found["proposals"] for looser in p["looser"] for d in looser["declarations"]]
    texts += [level["declaration"] for m in found["measured"] for level in m["levels"] if level["declaration"]]
    texts += [d["declaration"] for d in found["domains"] if d["declaration"]]
    assert len(texts) > 20
    for text in texts:
        stream, scheme = parse_constraint(text, script)
        assert scheme.on(stream.name) == text
        declaring(script, [(stream.name, scheme)])


def _what_is_proposed_bounds_it(found: dict[str, Any], file: Path) -> None:
    """Pasted, the proposals that save further and what is named beside them bound the query; fewer do not."""
    script = penstock.parse(file.read_text())
    saving = [d for p in found["proposals"] if p["saves_further"] for d in p["declarations"]]
    more = found["bounding"]["more"]
    assert not found["bounding"]["declared"]
    for count in range(len(more) + 1):
        named = [parse_constraint(text, script) for text in (*saving, *more[:count])]
        (query,) = declaring(script, [(stream.name, scheme) for stream, scheme in named]).queries
        assert (check_query(query).verdict == "bounded") == (count == len(more))


def _declared_is_verified(found: dict[str, Any]) -> None:
    declared = {d["constraint"]: d for d in found["declared"]}
    assert declared["PRIMARY KEY (id) ON orders"]["violations"] == 0
    assert declared["CLUSTERED BY kind WITHIN 0 ROWS ON orders"]["violations"] > 300
    assert declared["ORDERED BY seq WITHIN 5 ROWS ON payments"]["needed"] == 0
    assert declared["ARRIVES BY seq ON orders"]["violations"] == 0
    assert found["unverified"] == ["STREAM KEY (id) SPANS orders ON payments"]


def _measures_are_right(found: dict[str, Any]) -> None:
    measured = {m["constraint"]: m for m in found["measured"]}
    # Whoever pays came after the order; an order is paid up to eight and a half seconds later.
    follows = measured["FOLLOWS orders (id) ON (id) ON payments"]
    assert follows["levels"][0]["needs"] == [0]
    together = measured["COOCCURS (id) AND payments (id) ON orders"]["levels"][0]
    assert together["needs"] == [-500_000, 8_500_000]
    assert together["declaration"] == (
        "COOCCURS (id) AND payments (id) WINDOW [500 MILLISECONDS, 8500 MILLISECONDS] ON orders"
    )
    assert measured["FOREIGN KEY (id) REFERENCES orders (id) ON payments"]["levels"][0]["violations"] == 0
    assert {(d["stream"], d["column"], d["values"]) for d in found["domains"]} == {
        ("orders", "id", 360),
        ("payments", "id", 360),
    }


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("CREATE STREAM s (a INT) USING rate; SELECT a FROM s;", "which need not end"),
        ("CREATE STREAM s (a INT) USING kafka OPTIONS (subscribe 'x'); SELECT a FROM s;", "which need not end"),
        ("CREATE STREAM s (a INT); SELECT a FROM s;", "has no USING"),
        ("CREATE STREAM s (a INT) USING csv OPTIONS (path '/nowhere');", "no query"),
    ],
)
def test_what_cannot_be_profiled_is_refused_before_spark_starts(script: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "script.sql"
    file.write_text(script)
    done = _profiled(str(file))
    assert (done.exit_code, done.stdout) == (2, "")
    assert says in done.stderr
    assert "starting Spark" not in done.stderr


def test_data_that_is_not_there_is_named(bench: Bench) -> None:
    script = bench.script("CREATE STREAM s (a INT) USING parquet OPTIONS (path '{data}/none'); SELECT a FROM s;")
    done = _profiled(str(script))
    assert (done.exit_code, done.stdout) == (2, "")
    assert "cannot read stream s" in done.stderr


def test_outer_joins_and_exists_are_replayed_with_the_conditions_that_joined_rows_decide() -> None:
    streams = SCRIPT.split("SELECT", maxsplit=1)[0]
    script = penstock.parse(
        f"{streams} SELECT o.id, p.kind FROM orders AS o LEFT JOIN payments AS p ON o.id = p.id AND p.kind <> 'void';"
        "SELECT o.id FROM orders AS o WHERE NOT EXISTS (SELECT 1 FROM payments AS p WHERE p.id = o.id);"
    )
    plans = plans_of(script)
    assert list(plans) == ["query_1", "query_2"]
    flags = {condition for plan in plans.values() for condition in conditions_of(plan, "payments")}
    assert [alias for alias, text in flags if "void" in text] == ["p"]


@pytest.mark.thorough
def test_proposals_of_three_streams_that_share_an_order_are_ranked_together(bench: Bench) -> None:
    schema = pa.schema([("k", pa.int64()), ("ms", pa.int64())])
    streams = []
    for number, name in enumerate("abc"):
        bench.write(name, [{"k": n, "ms": 1000 * n + 100 * number} for n in range(200)], schema)
        columns = "k BIGINT, ms BIGINT, ts TIMESTAMP AS (timestamp_millis(ms)), EVENT TIME ts"
        streams.append(f"CREATE STREAM {name} ({columns}) USING parquet OPTIONS (path '{{data}}/{name}');")
    script = bench.script(f"{' '.join(streams)} SELECT a.k FROM a, b, c WHERE a.k = b.k AND b.k = c.k;")
    done = _profiled(str(script), "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["failed"] is None
    assert found["bounding"] is not None
    declared = [d for p in found["proposals"] for d in p["declarations"] if d.startswith("ORDERED BY ts")]
    assert len(declared) > len(set(declared))


def test_an_order_that_two_proposals_name_is_declared_once() -> None:
    script = penstock.parse("CREATE STREAM s (ts TIMESTAMP, EVENT TIME ts); SELECT ts FROM s;")
    named = [parse_constraint(f"ORDERED BY ts WITHIN {n} SECONDS ON s", script) for n in (3, 3, 5)]
    (stream,) = declaring(script, [(stream.name, scheme) for stream, scheme in named]).streams
    assert [scheme.text for scheme in stream.schemes] == ["ORDERED BY ts WITHIN 5 SECONDS"]


def test_what_was_measured_is_reported_though_a_later_step_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_: object, __: Profile) -> Profile:
        raise ValueError("no such luck\nat all")

    monkeypatch.delenv("PENSTOCK_DEBUG", raising=False)
    monkeypatch.setattr(run._Judging, "_with_values", lambda _, found: found)
    monkeypatch.setattr(run._Judging, "_with_proposals", failing)
    nothing: Any = None
    script = penstock.parse("CREATE STREAM s (a INT, PRIMARY KEY (a)); SELECT a FROM s;")
    told = run._Told(ProfileQuestions(), [("PRIMARY KEY (a) ON s", None)], {})
    profile = run._Judging(nothing, script, {}, told, nothing).profile()
    assert profile.failed == "replaying the proposals failed: ValueError: no such luck"
    text = " ".join(profile_report(profile, Ink(10_000)))
    assert "no such luck" in text
    assert "PRIMARY KEY (a) ON s: not verified" in text
    assert profile_object(profile)["bounding"] is None
