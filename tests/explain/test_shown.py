"""What verdicts and plans show of themselves is what the command line prints."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

from typer.testing import CliRunner

import penstock
from penstock.analysis.check import check_query
from penstock.cli import app
from penstock.jobs import explain

SCRIPT = """
CREATE STREAM a (id INT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 SECOND);
CREATE STREAM b (id INT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 SECOND);
CREATE SINK pairs USING parquet OPTIONS (path 'out');
INSERT INTO pairs SELECT a.id FROM a JOIN b ON a.id = b.id AND a.ts = b.ts;
SELECT a.id FROM a JOIN b ON a.id = b.id;
"""


def test_a_verdict_prints_as_the_command_does(tmp_path: Path) -> None:
    path = tmp_path / "one.sql"
    path.write_text(SCRIPT.rpartition("SELECT a.id FROM a JOIN")[0])
    told = penstock.check(penstock.parse(path.read_text()))
    assert CliRunner().invoke(app, ["check", str(path)]).stdout == f"{told}\n"
    # At Python's prompt too.
    assert repr(told) == str(told)
    assert CliRunner().invoke(app, ["explain", str(path)]).stdout == f"{explain(penstock.parse(path.read_text()))}\n"


def test_a_verdict_is_the_same_value_and_a_page_with_the_picture() -> None:
    script = penstock.parse(SCRIPT)
    for number, name in enumerate(("pairs", "query_2")):
        verdict = penstock.check(script, name)
        assert verdict.streams == check_query(script.queries[number]).streams
        shown = verdict._repr_html_()  # type: ignore[attr-defined]
        # In a frame, whose styles are not those of the notebook.
        assert re.fullmatch(r'<iframe srcdoc="[^"]*" style="[^"]*"></iframe>', shown)
        page = unescape(shown)
        assert "<svg" in page
        assert f"<h1>{name}</h1>" in page
        assert explain(script, name)._repr_html_() == shown


def test_the_room_can_be_called_for_the_plan_of_a_script() -> None:
    script = penstock.parse("CREATE STREAM a (k BIGINT); SELECT k FROM a;")
    assert str(penstock.explain(script)).startswith("✓ query_1: BOUNDED")  # type: ignore[operator] # a module that can
