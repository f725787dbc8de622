"""The package as it is built: installed elsewhere it runs every command; links work where the registry shows it."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import zipfile
from email.parser import HeaderParser
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
HOME = "https://example.org/penstock"
COMMANDS = ("check", "explain", "implies", "run", "profile", "state", "rescale", "page", "bench")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as a release is, by what `pip` fetches; from a copy, so that nothing is left in the clone."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder), str(ROOT)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**_environment(), "PENSTOCK_REPOSITORY": HOME}
    )
    assert done.returncode == 0, done.stderr
    (found,) = folder.glob("*.whl")
    return found


def _environment() -> dict[str, str]:
    left_out = ("PYTHONPATH", "VIRTUAL_ENV", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_HOME")
    return {name: value for name, value in os.environ.items() if name not in left_out}


class Installed:
    """An environment that has nothing but the wheel and what it asks for."""

    def __init__(self, folder: Path, wheel: Path, extra: str) -> None:
        self.folder = folder
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
        self.bin = folder / "venv" / "bin"
        wanted = f"{wheel}{extra}"
        subprocess.run([str(self.bin / "python"), "-m", "pip", "install", "--quiet", wanted], check=True, timeout=600)

    def penstock(self, *arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            [str(self.bin / "penstock"), *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            env=_environment(),
        )
        assert done.returncode == code, f"{arguments}: {done.stderr[-3000:]}"
        return done.stdout + done.stderr


SCRIPT = """
CREATE STREAM a (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 0)
  USING json OPTIONS (path '{folder}/a', maxFilesPerTrigger '1');
CREATE STREAM b (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 0)
  USING json OPTIONS (path '{folder}/b', maxFilesPerTrigger '1');
CREATE SINK out USING json OPTIONS (path '{folder}/out');
INSERT INTO out SELECT a.k FROM a, b WHERE a.k = b.k AND b.ts - a.ts BETWEEN -5 AND 5;
"""


@pytest.mark.thorough
def test_the_small_package_checks_and_says_what_brings_the_rest(tmp_path: Path, wheel: Path) -> None:
    made = Installed(tmp_path, wheel, "")
    (tmp_path / "script.sql").write_text(SCRIPT.replace("{folder}", str(tmp_path)))
    for command in COMMANDS:
        assert "Usage: penstock" in made.penstock(command, "--help"), command
    assert "BOUNDED" in made.penstock("check", "script.sql")
    assert "out" in made.penstock("explain", "script.sql")
    made.penstock("implies", "script.sql", "PRIMARY KEY (k) ON a", code=3)
    assert "pip install 'penstock[spark]'" in made.penstock("run", "script.sql", "--checkpoint", "ck", code=1)


@pytest.mark.thorough
def test_the_installed_package_runs_every_command(tmp_path: Path, wheel: Path) -> None:
    made = Installed(tmp_path, wheel, "[spark]")
    (tmp_path / "script.sql").write_text(SCRIPT.replace("{folder}", str(tmp_path)))
    for stream in ("a", "b"):
        (tmp_path / stream).mkdir()
        (tmp_path / stream / "0.json").write_text('{"k": 1, "ts": 1}\n{"k": 2, "ts": 2}\n')
    made.penstock("run", "script.sql", "--available-now", "--checkpoint", "ck", "--metrics", "m.jsonl")
    found = sorted(line for path in (tmp_path / "out").glob("*.json") for line in path.read_text().splitlines())
    assert found == ['{"k":1}', '{"k":2}']
    assert "a: " in made.penstock("state", "ck")
    assert "dealt to 3 cells" in made.penstock("rescale", "ck", "--cells", "3")
    made.penstock("page", "m.jsonl", "--html", "page.html")
    assert (tmp_path / "page.html").exists()
    assert "ORDERED BY" in made.penstock("profile", "script.sql")
    made.penstock("bench", "--help")
    told = made.penstock("bench", "packets", code=2)
    assert "the experiments come with the repository, and this is an installed package without them" in told


@pytest.mark.thorough
def test_links_of_the_readme_work_from_the_registry(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        (name,) = [one for one in packed.namelist() if one.endswith(".dist-info/METADATA")]
        told = HeaderParser().parsestr(packed.read(name).decode())
    targets = re.findall(r"\]\(([^)\s]+)\)", str(told.get_payload()))
    assert len(targets) > 20
    assert all(target.startswith(("https://", "#")) for target in targets), targets
    own = [target.removeprefix(f"{HOME}/").split("/", 2)[2] for target in targets if target.startswith(HOME)]
    assert all((ROOT / path.partition("#")[0]).exists() for path in own), "of what is there"
    assert f"Repository, {HOME}" in told.get_all("Project-URL", [])


@pytest.mark.parametrize(
    ("origin", "shown"),
    [
        ("https://github.com/a/b.git", "https://github.com/a/b"),
        ("git@github.com:a/b.git", "https://github.com/a/b"),
        ("ssh://git@host.org/a/b", "https://host.org/a/b"),
        ("https://token@host.org/a/b.git", "https://host.org/a/b"),
        ("/work/main", None),
    ],
)
def test_the_repository_is_where_the_clone_came_from(
    origin: str, shown: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hook(monkeypatch).browsed(origin) == shown


def test_links_to_files_become_links_to_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "[a](docs/a.md#b) ![c](docs/c.png) [d](https://d.org) [e](#e)"
    assert hook(monkeypatch).linked(text, HOME) == (
        f"[a]({HOME}/blob/HEAD/docs/a.md#b) ![c]({HOME}/raw/HEAD/docs/c.png) [d](https://d.org) [e](#e)"
    )


def hook(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module that hatchling loads; hatchling itself is fetched where a package is built, and not here."""
    for name in ("hatchling", "hatchling.metadata", "hatchling.metadata.plugin", "hatchling.metadata.plugin.interface"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules["hatchling.metadata.plugin.interface"].MetadataHookInterface = object  # type: ignore[attr-defined]
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made
