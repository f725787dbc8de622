"""The notebooks run from their first cell to the last, and show what they showed when they were last read.

`--update-golden` keeps their outputs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.docs.notebooks import run_notebook, written

FOLDER = Path(__file__).parents[2] / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def _printed(notebook: dict[str, Any]) -> list[str]:
    """What its cells print, without what differs from run to run."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return ["".join(out["text"]) for cell in cells for out in cell["outputs"] if out["output_type"] == "stream"]


def test_there_are_three() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["1_from_unbounded_to_bounded", "2_profile", "3_budget"]


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[pytest.mark.thorough] if path.stem[0] in "23" else []) for path in NOTEBOOKS],
    ids=lambda path: path.stem,
)
def test_a_notebook_runs_and_prints_what_it_did(path: Path, request: pytest.FixtureRequest) -> None:
    made = run_notebook(path)
    if request.config.getoption("--update-golden"):
        path.write_text(written(made), encoding="utf-8")
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert _printed(made) == _printed(kept)
    assert _printed(made)
    shown = [out for cell in made["cells"] for out in cell.get("outputs", ()) if out["output_type"] == "execute_result"]
    if path.stem[0] != "2":
        assert any("image/svg+xml" in out["data"] for out in shown)
