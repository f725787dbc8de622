"""Where tables of Delta and Iceberg can be had: an environment with the Spark that they have packages for, and these.

The environment is made once, under build/matrix, where `make matrix` has it too. What is done to tables there is done
by `tests/lake/work.py`, a program of that environment.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.maven import fetched

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
_SPARK = "4.1"
_VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


@cache
def python() -> str:
    """The Python of the environment."""
    home = ROOT / "build" / "matrix" / f"python{_VERSION}-spark{_SPARK}"
    found = home / "bin" / "python"
    if not found.exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    install = ["-m", "pip", "install", "--quiet", "-e", f"{ROOT}[spark]", f"pyspark=={_SPARK}.*"]
    subprocess.run([str(found), *install], check=True, timeout=900)
    return str(found)


@dataclass(frozen=True)
class Lake:
    """Tables of one kind in a folder."""

    kind: str
    folder: Path

    def table(self, name: str) -> str:
        """What the option `path` says."""
        return f"lake.db.{name}" if self.kind == "iceberg" else str(self.folder / name)

    @property
    def conf(self) -> dict[str, str]:
        """What Spark is told."""
        own = {"spark.jars": ",".join(map(str, fetched(HERE / f"{self.kind}.xml"))), "spark.ui.enabled": "false"}
        if self.kind == "delta":
            return own | {
                "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
                "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            }
        return own | {
            "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
            "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.lake.type": "hadoop",
            "spark.sql.catalog.lake.warehouse": str(self.folder),
        }

    def work(self, *steps: str) -> Any:
        """Let a program of the environment do these things to the tables; what it prints last, as JSON."""
        settings = [f"{name}={value}" for name, value in self.conf.items()]
        command = [python(), str(HERE / "work.py"), json.dumps(settings), self.kind, str(self.folder), *steps]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=environment())
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout.splitlines()[-1])


def environment() -> dict[str, str]:
    """Of this process, without what would lead the other Python to this one's Spark."""
    left_out = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_HOME", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if name not in left_out}
