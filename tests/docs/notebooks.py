"""Runs a notebook without a kernel: its cells in order, in one namespace; what each shows is kept as Jupyter does."""

from __future__ import annotations

import ast
import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any


def run_notebook(path: Path) -> dict[str, Any]:
    """The notebook with the outputs of this run."""
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    number = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            number += 1
            cell["execution_count"] = number
            cell["outputs"] = _outputs("".join(cell["source"]), names, number, f"{path.name}[{number}]")
    return notebook


def written(notebook: dict[str, Any]) -> str:
    """As Jupyter writes it."""
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


def _outputs(source: str, names: dict[str, Any], number: int, place: str) -> list[dict[str, Any]]:
    tree = ast.parse(source, place)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    said = io.StringIO()
    shown = None
    with redirect_stdout(said):
        exec(compile(tree, place, "exec"), names)
        if isinstance(last, ast.Expr):
            shown = eval(compile(ast.Expression(last.value), place, "eval"), names)
    found: list[dict[str, Any]] = []
    if said.getvalue():
        found.append({"name": "stdout", "output_type": "stream", "text": said.getvalue().splitlines(keepends=True)})
    if shown is not None:
        found.append({"data": _data(shown), "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return found


def _data(shown: Any) -> dict[str, Any]:
    data = {"text/plain": (repr(shown) if not hasattr(shown, "_repr_svg_") else "a drawing").splitlines(keepends=True)}
    for kind, method in (("image/svg+xml", "_repr_svg_"), ("text/html", "_repr_html_")):
        if hasattr(shown, method):
            data[kind] = getattr(shown, method)().splitlines(keepends=True)
    return data
