"""What the parent of Spark's workers has imported is what they run, and nothing of the language."""

from __future__ import annotations

import subprocess
import sys

from penstock.spark.daemon import SHARED

_LOADED = f"""
import sys
for name in {SHARED!r}:
    __import__(f"penstock.spark.{{name}}")
print(*sorted({{".".join(m.split(".")[:2]) for m in sys.modules if m.split(".")[0] in ("penstock", "sqlglot")}}))
"""


def test_workers_import_neither_the_language_nor_its_reports() -> None:
    loaded = subprocess.run([sys.executable, "-c", _LOADED], capture_output=True, text=True, check=True).stdout.split()
    assert "penstock.runtime" in loaded
    assert not {"penstock.sql", "penstock.explain", "penstock.cli", "sqlglot"} & set(loaded)
