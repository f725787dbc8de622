"""What the commands say of counts in place of a join: `check --json`, the offer, what a run has seen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli import app
from penstock.plan.counting import Observed, read_observed, write_observed

EXAMPLE = Path(__file__).parents[2] / "examples" / "syn_without_fin.sql"


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def counted(tmp_path: Path) -> Path:
    """The running example, its bounds asked for."""
    path = tmp_path / "counted.sql"
    hint = "SELECT /*+ ERROR(5 PERCENT WITH BOUNDS) */ window"
    path.write_text(EXAMPLE.read_text(encoding="utf-8").replace("SELECT window", hint), encoding="utf-8")
    return path


def test_the_contract_where_it_is_done_and_where_it_is_offered(counted: Path) -> None:
    (done,) = json.loads(run("check", str(counted), "--json"))["queries"]
    (offer,) = json.loads(run("check", str(EXAMPLE), "--json"))["queries"]
    assert (done["strategy"], done["exact"], done["verdict"]) == ("rewrite", False, "bounded")
    assert (offer["strategy"], offer["exact"], offer["verdict"]) == ("purge", True, "bounded")
    assert [q["analyses"]["rewrite"]["applies"] for q in (done, offer)] == [True, False]
    assert [q["analyses"]["rewrite"]["error_bound"] for q in (done, offer)] == pytest.approx([0.05, 0.05])
    assert done["analyses"]["rewrite"]["sql"] == offer["analyses"]["rewrite"]["sql"]


def test_explain_shows_what_a_run_has_seen(counted: Path, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint" / "unfinished"
    folder.mkdir(parents=True)
    assert read_observed(folder) is None
    assert "by the lags seen" not in run("explain", str(counted), "--checkpoint", str(tmp_path / "checkpoint"))
    write_observed(folder, Observed(7, 0.0125, 0.02, 0, 0.1, 3).then(Observed(1, 0.01, 0.06, 1, 0.4, 1)))
    shown = run("explain", str(counted), "--checkpoint", str(tmp_path / "checkpoint"))
    assert "by the lags seen, at most 1.25 % cross the end of a window" in shown
    assert "by the violations seen, at most 6 % are miscounted (4 of 8 windows have some)" in shown
    assert "together at most 7.25 %: more than the declared 5 % (largest of 8 windows, 1 above" in shown
    assert "of the answer itself at most 40 %" in " ".join(shown.split())


def test_what_a_run_has_seen_and_cannot_be_read_is_an_error(counted: Path, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint" / "unfinished"
    folder.mkdir(parents=True)
    (folder / "observed.json").write_text("{")
    done = CliRunner().invoke(app, ["explain", str(counted), "--checkpoint", str(tmp_path / "checkpoint")])
    assert done.exit_code == 1
    assert "cannot be read" in done.stderr
    by_uri = CliRunner().invoke(app, ["explain", str(counted), "--checkpoint", (tmp_path / "checkpoint").as_uri()])
    assert "cannot be read" in by_uri.stderr, "a disk by its URI is the disk"
    away = CliRunner().invoke(app, ["explain", str(counted), "--checkpoint", "hdfs://name/job"])
    assert away.exit_code == 2
    assert "explain starts no Spark, and so reads no checkpoint hdfs://name/job" in away.stderr
    done = CliRunner().invoke(app, ["explain", str(counted), "--checkpoint", str(tmp_path / "none")])
    assert done.exit_code == 2
    assert "there is no checkpoint" in done.stderr


def test_the_page_and_the_json_hold_the_counts(counted: Path, tmp_path: Path) -> None:
    run("explain", str(counted), "--html", str(tmp_path / "page.html"))
    assert "Counts in place of the join" in (tmp_path / "page.html").read_text(encoding="utf-8")
    (planned,) = json.loads(run("explain", str(counted), "--json"))["queries"]
    assert planned["plan"]["rewriting"]["root"] == "s"
    assert [source["high"] for source in planned["plan"]["rewriting"]["sources"]] == [0, 5_000_000, 15_000_000]
