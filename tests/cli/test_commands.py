"""The other commands: explain, run, and those that this version only knows by name."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

import penstock as package
from tests.cli import scripts
from tests.cli.conftest import Run

Write = Callable[..., str]

LASTING = """
CREATE STREAM s (a INT) USING json OPTIONS (path 'in');
CREATE SINK out USING parquet OPTIONS (path 'out');
INSERT INTO out SELECT a FROM s;
"""


def test_version(outside: Run) -> None:
    done = outside("--version")
    assert (done.returncode, done.stdout) == (0, f"penstock {package.__version__}\n")


def test_help_names_every_command(penstock: Run) -> None:
    shown = penstock("--help").stdout
    assert all(command in shown for command in ("check", "explain", "implies", "run", "profile", "bench"))


def test_explain_json_is_check_json_with_a_plan(penstock: Run, script: Write) -> None:
    name = script(scripts.MIXED)
    checked = json.loads(penstock("check", name, "--json").stdout)["queries"]
    explained = json.loads(penstock("explain", name, "--json").stdout)["queries"]
    assert [list(q)[-1] for q in explained] == ["plan", "plan"]
    assert [{k: v for k, v in q.items() if k != "plan"} for q in explained] == checked


def test_explain_of_undecided_queries_is_no_failure(penstock: Run, script: Write) -> None:
    done = penstock("explain", script(scripts.MIXED))
    assert (done.returncode, done.stderr) == (0, "")
    assert "query_1" in done.stdout
    assert "query_2" in done.stdout


class _Page(HTMLParser):
    """Collects what a page would load, and whether its tags close."""

    VOID = frozenset(("meta", "br", "hr", "link", "img", "input"))

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag != "script"
        if tag not in self.VOID:
            self.open.append(tag)
        self.loads += [v or "" for k, v in attrs if k in ("src", "href") and not (v or "").startswith("#")]

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_page_is_whole_escaped_and_loads_nothing(penstock: Run, script: Write, tmp_path: Path) -> None:
    hostile = (
        "CREATE STREAM `<b>s</b>` (a INT, `x\"'&<i>` STRING);"
        "SELECT a FROM `<b>s</b>` AS `</text><script>` WHERE `x\"'&<i>` = '</pre><script>alert(1)</script>';"
    )
    done = penstock("explain", script(hostile + scripts.MIXED), "--html", "page.html")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    page = _Page()
    page.feed(text)
    page.close()
    assert page.open == []
    assert page.loads == []
    assert not re.search(r"url\((?!#)", text)
    assert "@import" not in text
    assert "alert(1)" in page.text
    assert "prefers-color-scheme: dark" in text


def test_page_says_what_is_tested_after_the_join_and_when_a_row_is_final(
    penstock: Run, script: Write, tmp_path: Path
) -> None:
    joined = "SELECT a.id FROM auctions [ROWS 9] AS a LEFT JOIN bids [ROWS 9] AS b ON a.id = b.auction"
    penstock("explain", script(f"{scripts.STREAMS} {joined} WHERE b.price IS NULL;"), "--html", "page.html")
    page = _Page()
    page.feed((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "after the join: b.price IS NULL" in page.text
    assert "a row of a without a match in b is emitted with NULLs once 9 more rows of a have arrived" in page.text


def test_page_that_cannot_be_written_is_exit_2(penstock: Run, script: Write) -> None:
    done = penstock("explain", script(scripts.BOUNDED), "--html", "no/such/folder/page.html")
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot write" in done.stderr


@pytest.mark.parametrize("options", ["--json --html x.html", "--json --checkpoint .", "--html x.html --checkpoint ."])
def test_options_that_exclude_each_other(penstock: Run, script: Write, options: str) -> None:
    done = penstock("explain", script(scripts.BOUNDED), *options.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert "excludes" in done.stderr


def test_implies_reads_its_constraint_first(penstock: Run, script: Write) -> None:
    assert penstock("implies", script(scripts.BOUNDED), "ORDERED BY nothing ON bids").returncode == 2


def test_run_refuses_what_has_no_bound_with_the_report_of_check(penstock: Run, script: Write) -> None:
    name = script(scripts.UNDECIDED)
    refused = penstock("run", name)
    assert refused.returncode == 4
    assert refused.stdout == penstock("check", name).stdout
    assert "--allow-unbounded" in refused.stderr


def test_run_into_a_lasting_sink_needs_a_checkpoint(penstock: Run, script: Write) -> None:
    done = penstock("run", script(LASTING))
    assert (done.returncode, done.stdout) == (2, "")
    assert "--checkpoint" in done.stderr


def test_run_wants_settings_as_pairs_and_a_query(penstock: Run, script: Write) -> None:
    assert "k=v" in penstock("run", script(scripts.BOUNDED), "--conf", "nonsense").stderr
    misspelt = penstock("run", script(scripts.BOUNDED), "--conf", "penstock.cels=4")
    assert (misspelt.returncode, "did you mean penstock.cells?" in misspelt.stderr) == (2, True)
    unknown = penstock("run", script(scripts.BOUNDED), "--conf", "penstock.zzz=4")
    assert "these are known: penstock.archive" in unknown.stderr
    done = penstock("run", script(scripts.NO_QUERY))
    assert done.returncode == 2
    assert "no query" in done.stderr


def _with_load(body: str, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `check` with a load that does something else: the only way to raise what never should be raised."""
    code = f"import sys, os\nimport penstock.compile as c\ndef load(path, **_):\n    {body}\nc.load = load\n"
    code += "from penstock.cli import main\nmain()"
    return subprocess.run(
        [sys.executable, "-c", code, "check", script],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={"PATH": "/usr/bin:/bin", **environment},
    )


def test_a_bug_is_one_sentence_and_a_trace_only_on_demand() -> None:
    done = _with_load("raise KeyError('lost')", "x.sql")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: this is a bug in Penstock")
    assert "Traceback" not in done.stderr
    assert "Traceback" in _with_load("raise KeyError('lost')", "x.sql", PENSTOCK_DEBUG="1").stderr


def test_output_that_cannot_be_written_is_one_sentence(script: Write, tmp_path: Path) -> None:
    path = tmp_path / script(scripts.BOUNDED)
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "penstock", "check", str(path)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("error: the machine says")
    assert len(done.stderr.splitlines()) == 1


def test_ctrl_c_is_quiet() -> None:
    # A shell starts background jobs, and so perhaps this test, with SIGINT ignored; a terminal does not.
    heard = "__import__('signal').signal(2, __import__('signal').default_int_handler)"
    done = _with_load(f"{heard}, os.kill(os.getpid(), {int(signal.SIGINT)})", "x.sql")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize(
    ("constraint", "code", "implied"),
    [
        ("ORDERED BY ts WITHIN 4 SECONDS ON bids", 0, True),
        ("PRIMARY KEY (id) ON auctions", 3, False),
        ("ORDERED BY ts WITHIN 2 SECONDS ON bids", 4, None),
    ],
)
def test_implies_answers_by_exit_code_text_and_json(
    penstock: Run, script: Write, constraint: str, code: int, implied: bool | None
) -> None:
    name = script(scripts.BOUNDED)
    done = penstock("implies", name, constraint, "--json")
    answer = json.loads(done.stdout)
    assert (done.returncode, done.stderr, list(answer)) == (code, "", ["implied", "because"])
    assert answer["implied"] is implied
    said = penstock("implies", name, constraint)
    assert said.returncode == code
    assert constraint in said.stdout
    assert all(reason.split()[0] in said.stdout for reason in answer["because"])
