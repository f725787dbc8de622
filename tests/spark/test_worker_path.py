"""Python processes that Spark starts import the installed pyspark, compiled, and not Spark's zip of its sources."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
from pyspark.sql import SparkSession

import penstock.spark.worker_path
from penstock.spark.worker_path.sitecustomize import without_zips

_FOLDER = str(Path(penstock.spark.worker_path.__file__).parent)
_INSTALLED = Path(pyspark.__file__).parent
_ZIP = str(_INSTALLED / "python" / "lib" / "pyspark.zip")


def test_only_the_zips_that_the_installed_pyspark_brought_along_leave_the_path(tmp_path: Path) -> None:
    other = str(tmp_path / "libraries.zip")
    assert without_zips([_ZIP, other, str(_INSTALLED.parent)]) == [other, str(_INSTALLED.parent)]
    assert without_zips([_ZIP, other]) == [_ZIP, other]
    assert without_zips(["/nowhere/pyspark.zip", *sys.path]) == ["/nowhere/pyspark.zip", *sys.path]


def test_a_process_imports_what_is_installed_and_runs_the_environments_own_words(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('mine too')\n")
    for path, found in (([_ZIP, str(tmp_path)], _ZIP), ([_ZIP, _FOLDER, str(tmp_path)], str(_INSTALLED))):
        command = [sys.executable, "-c", "import pyspark; print(pyspark.__file__)"]
        told = os.environ | {"PYTHONPATH": os.pathsep.join(path)}
        done = subprocess.run(command, env=told, capture_output=True, text=True, check=True)
        said, imported = done.stdout.split("\n")[:2]
        assert (said, imported.startswith(found)) == ("mine too", True)


def _imported_from(batches: Iterator[Any]) -> Iterator[Any]:
    for _ in batches:
        yield pa.record_batch([pa.array([sys.modules["pyspark"].__file__, str(_ZIP in sys.path)])], names=["x"])


def test_workers_of_a_run_do(spark: SparkSession) -> None:
    rows = spark.range(1).mapInArrow(_imported_from, "x STRING").collect()
    assert [row["x"] for row in rows] == [str(_INSTALLED / "__init__.py"), "False"]
