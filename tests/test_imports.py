"""The direction of imports (DESIGN section 5), read from the sources; and what a `check` really loads."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "src" / "penstock"

# A room may import itself and these. "" is penstock/__init__.py, which holds the version and lazy names only.
MAY_IMPORT: dict[str, set[str]] = {
    "": {"extras"},
    "errors": set(),
    "records": set(),
    "extras": {"errors"},
    "help_text": set(),
    "model": {"errors", "records"},
    "sql": {"errors", "records", "model"},
    "analysis": {"errors", "records", "model"},
    "plan": {"errors", "records", "model", "analysis"},
    "runtime": {"errors", "model", "plan"},
    "frames": {"errors", "model"},
    "spark": {"errors", "model", "plan", "runtime", "explain", "frames", ""},
    "offline": {"errors", "extras"},
    "curve": {"errors", "model", "plan", "runtime", "offline", "spark"},
    "explain": {"", "errors", "records", "model", "analysis", "plan", "sql"},
    "profile": {"errors", "model", "sql", "analysis", "plan", "runtime", "spark", "explain"},
    "compile": {"errors", "records", "extras", "model", "sql", "analysis", "plan", "explain", "spark"},
    "live": {"errors", "model", "analysis", "plan", "explain"},
    "jobs": {"profile", "errors", "model", "analysis", "explain", "compile", "frames", "spark", ""},
    "testing": {"errors", "model", "analysis", "plan", "runtime", "explain", "compile"},
    "cli": {
        "",
        "errors",
        "model",
        "sql",
        "analysis",
        "plan",
        "spark",
        "explain",
        "compile",
        "profile",
        "curve",
        "jobs",
        "live",
        "extras",
        "help_text",
    },
    "__main__": {"cli"},
}
HEAVY = ("pyspark", "numpy", "pyarrow", "pandas", "networkx", "ortools", "z3", "rich")
LIGHT_ROOMS = (
    "",
    "errors",
    "records",
    "extras",
    "model",
    "sql",
    "analysis",
    "plan",
    "explain",
    "compile",
    "frames",
    "jobs",
    "cli",
)

MODULES = sorted(SOURCES.rglob("*.py"))


def room_of(module: str) -> str:
    """`penstock.model.stream` is in the room `model`, `penstock` itself in ``."""
    return module.split(".")[1] if "." in module else ""


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCES.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _is_type_checking(node: ast.If) -> bool:
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def imports(tree: ast.AST) -> Iterator[str]:
    """Every module imported, wherever in the module it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute, so that their direction can be read"
            assert node.module is not None
            if node.module == "penstock":
                # `from penstock import model` names a room, `from penstock import __version__` does not.
                rooms = [a.name for a in node.names if a.name in MAY_IMPORT]
                yield from (f"penstock.{room}" for room in rooms)
                if len(rooms) < len(node.names):
                    yield "penstock"
            else:
                yield node.module


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_module_imports_only_from_rooms_before_its_own(path: Path) -> None:
    room = room_of(module_name(path))
    assert room in MAY_IMPORT, f"{room} is a new room: say in MAY_IMPORT what it may import"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if room == "":
        # The public names are imported for the type checker alone; at run time they are lazy.
        tree.body = [n for n in tree.body if not (isinstance(n, ast.If) and _is_type_checking(n))]
    ours = {room_of(name) for name in imports(tree) if name.split(".")[0] == "penstock"}
    assert ours - {room} <= MAY_IMPORT[room]


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_only_spark_imports_pyspark_and_light_rooms_import_nothing_heavy(path: Path) -> None:
    room = room_of(module_name(path))
    roots = {name.split(".")[0] for name in imports(ast.parse(path.read_text(encoding="utf-8")))}
    if room != "spark":
        assert "pyspark" not in roots
    if room in LIGHT_ROOMS:
        assert roots.isdisjoint(HEAVY)


def _loaded(code: str, *arguments: str) -> set[str]:
    """The top-level modules that a fresh interpreter holds after running the code."""
    dump = "import atexit, sys; atexit.register(lambda: print('\\nLOADED', *sys.modules, file=sys.stderr))\n"
    done = subprocess.run(
        [sys.executable, "-c", dump + code, *arguments], capture_output=True, text=True, check=False, timeout=60
    )
    marker, _, names = done.stderr.strip().splitlines()[-1].partition(" ")
    assert marker == "LOADED", done.stderr
    return {name.split(".")[0] for name in names.split()}


@pytest.mark.parametrize("command", ["check", "explain"])
def test_check_and_explain_load_nothing_heavy(command: str, tmp_path: Path) -> None:
    script = tmp_path / "script.sql"
    script.write_text("CREATE STREAM s (a INT, b STRING); SELECT a FROM s WHERE b = 'x';")
    loaded = _loaded("from penstock.cli import main; main()", command, str(script))
    assert {"penstock", "sqlglot"} <= loaded
    assert loaded.isdisjoint(HEAVY)


def test_importing_penstock_loads_no_parser() -> None:
    assert _loaded("import penstock").isdisjoint({*HEAVY, "sqlglot", "typer"})
