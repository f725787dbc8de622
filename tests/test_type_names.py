"""One name, one thing: no two types of the package have the same name, and no two modules."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "penstock"


def test_type_names_stand_once() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path.relative_to(SOURCE).as_posix())
    assert len(places) > 300
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


SAME_MODULE_NAME = {
    "bands": "known of a query; evaluated by the runtime",
    "conditions": "bound from text; evaluated by penstock.testing",
    "expressions": "of the model; bound from text",
    "hints": "of the model; bound from text",
    "policies": "of the simulators; of the runtime",
    "reading": "of profiles on Spark; of penstock.testing",
    "run": "one for each command that runs something",
    "script": "of the model; bound from text",
    "stream": "of the model; as a DataFrame",
    "tree": "of the plan; of the text",
    "types": "of the model; of the text; of Spark",
}
"""Modules of different rooms that are about the same thing, each as its room sees it."""


def test_module_names_stand_once() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        if path.stem != "__init__":
            places[path.stem].append(path.relative_to(SOURCE).as_posix())
    twice = {name: where for name, where in places.items() if len(where) > 1}
    assert {name: where for name, where in twice.items() if name not in SAME_MODULE_NAME} == {}
    assert set(SAME_MODULE_NAME) <= set(twice), "an exception that is none any more"
