"""The plain package checks and explains; what needs more says which extra brings it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from penstock.extras import EXTRAS, missing_extra

ROOT = Path(__file__).parents[1]
SCRIPT = str(ROOT / "examples" / "auctions_and_bids.sql")

# As in an environment that holds what `pip install penstock` brings, and no more.
WITHOUT = """
import sys
class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {packages}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Nothing())
"""
MAIN = "from penstock.cli import main\nmain()\n"
PLAIN = WITHOUT.format(packages=tuple(EXTRAS))
COMMAND = PLAIN + MAIN
WITHOUT_SOLVER = WITHOUT.format(packages=("ortools",)) + MAIN


COMPILED = """
from sqlglot import parser
parser.__file__ = "parser.cpython-311-x86_64-linux-gnu.so"
from penstock.cli import main
main()
"""


def run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "arguments",
    [("check", SCRIPT), ("explain", SCRIPT), ("implies", SCRIPT, "PRIMARY KEY (id) ON auctions"), ("--help",)],
    ids=lambda arguments: arguments[0],
)
def test_the_plain_package_decides_and_explains(arguments: tuple[str, ...]) -> None:
    done = run(COMMAND, *arguments)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("code", "arguments", "extra"),
    [
        (COMMAND, ("run", SCRIPT, "--checkpoint", "nowhere"), "spark"),
        (COMMAND, ("profile", SCRIPT), "spark"),
        (COMMAND, ("explain", SCRIPT, "--curve", "5"), "spark,offline"),
        (WITHOUT_SOLVER, ("explain", SCRIPT, "--curve", "5"), "spark,offline"),
        (PLAIN + "import penstock\npenstock.testing", (), "testing"),
        (PLAIN + "import penstock\npenstock.offline", (), "offline"),
        (PLAIN + f"import penstock\npenstock.stream(None, penstock.parse(open({SCRIPT!r}).read()))", (), "spark"),
    ],
    ids=["run", "profile", "curve", "curve beside Spark", "testing", "offline", "stream"],
)
def test_what_needs_more_says_what_to_install(code: str, arguments: tuple[str, ...], extra: str) -> None:
    done = run(code, *arguments)
    assert done.returncode == 1
    assert f"pip install 'penstock[{extra}]'" in done.stderr
    assert "bug in Penstock" not in done.stderr


def test_every_extra_that_is_named_is_there_and_the_plain_package_is_small() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(EXTRAS.values()) < set(project["optional-dependencies"])
    assert [need.partition("~")[0].partition(">")[0] for need in project["dependencies"]] == ["sqlglot", "typer"]


def test_an_import_that_fails_otherwise_is_no_missing_extra() -> None:
    assert missing_extra(ModuleNotFoundError("No module named 'penstok'", name="penstok")) is None


def test_the_compiled_form_of_sqlglot_is_told() -> None:
    done = run(COMPILED, "check", SCRIPT)
    assert done.returncode == 1
    assert "pip uninstall sqlglotc" in done.stderr
    assert "bug in Penstock" not in done.stderr
