"""`${NAME}` in the options of a source or a sink is the environment's, and is printed nowhere."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock.errors import UsageError
from penstock.model.stream import Storage
from penstock.spark.option_values import masked, option_values
from penstock.sql import parse_script
from penstock.sql.printer import print_script
from tests.spark.conftest import Bench

SCRIPT = """
CREATE STREAM a (k BIGINT) USING parquet OPTIONS (path '${PENSTOCK_TEST_DATA}/a');
CREATE SINK out USING parquet OPTIONS (path '${PENSTOCK_TEST_OUT}');
INSERT INTO out SELECT k FROM a;
"""


def test_variables_are_filled_in_and_a_missing_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_TEST_WORD", "open sesame")
    storage = Storage("jdbc", (("password", "-${PENSTOCK_TEST_WORD}-"), ("path", "$HOME/${1}")))
    assert option_values(storage) == (("password", "-open sesame-"), ("path", "$HOME/${1}"))
    assert masked("login with open sesame failed") == "login with ${PENSTOCK_TEST_WORD} failed"
    monkeypatch.delenv("PENSTOCK_TEST_WORD")
    with pytest.raises(UsageError, match="option password: the environment has no PENSTOCK_TEST_WORD"):
        option_values(storage)


def test_a_script_is_printed_as_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_TEST_DATA", "/secret")
    assert "${PENSTOCK_TEST_DATA}/a" in print_script(parse_script(SCRIPT))


def test_a_query_reads_and_writes_where_variables_say(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.write("a", [{"k": 1}, {"k": 2}], pa.schema([("k", pa.int64())]))
    monkeypatch.setenv("PENSTOCK_TEST_OUT", str(bench.folder / "out"))
    ran = bench.run(SCRIPT)
    assert ran.code == 2
    assert "the environment has no PENSTOCK_TEST_DATA" in ran.err
    monkeypatch.setenv("PENSTOCK_TEST_DATA", str(bench.folder / "nowhere"))
    ran = bench.run(SCRIPT)
    assert ran.code != 0
    assert "${PENSTOCK_TEST_DATA}" in ran.err
    assert "nowhere" not in ran.err
    monkeypatch.setenv("PENSTOCK_TEST_DATA", str(bench.folder / "data"))
    ran = bench.run(SCRIPT)
    assert ran.code == 0, ran.err
    assert bench.sink() == {(1,): 1, (2,): 1}
