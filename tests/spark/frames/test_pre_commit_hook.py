"""The hook of pre-commit that docs/adopt.md shows, on a repository whose job changes from bounded to unbounded.

Where `pre-commit` is installed it runs the hook; elsewhere the hook's entry is run as pre-commit does: in the root of
the repository, if a file that changes is one of the hook's, and without the names of files.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs" / "adopt.md"
JOB = """
from pyspark.sql import SparkSession, functions as F

spark = SparkSession.builder.getOrCreate()
orders = spark.readStream.schema("id BIGINT, ordered TIMESTAMP").json("orders").withWatermark("ordered", "1 minute")
paid = spark.readStream.schema("order_id BIGINT, paid TIMESTAMP").json("paid").withWatermark("paid", "1 minute")
pairs = orders.join(paid, F.expr("id = order_id AND paid BETWEEN ordered AND ordered + INTERVAL 1 HOUR"))
pairs.writeStream.format("json").option("checkpointLocation", "kept").start("out").awaitTermination()
"""
UNBOUNDED = JOB.replace(" AND paid BETWEEN ordered AND ordered + INTERVAL 1 HOUR", "")


def shown() -> str:
    """The configuration that the page shows."""
    found = re.search(r"^```yaml\n(repos:.*?)^```$", DOCS.read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None
    return found.group(1)


def setting(name: str) -> str:
    """What the hook says of one thing."""
    found = re.search(rf"^ +{name}: (.+)$", shown(), re.MULTILINE)
    assert found is not None, name
    return found.group(1)


def committed(repository: Path, changed: str) -> tuple[int, str]:
    """The exit code of the hook when a file changes, and what is said."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}

    def run(command: list[str]) -> tuple[int, str]:
        done = subprocess.run(
            command, cwd=repository, env=environment, capture_output=True, text=True, check=False, timeout=120
        )
        return done.returncode, done.stdout + done.stderr

    program = shutil.which("pre-commit", path=environment["PATH"])
    if program is not None:
        run(["git", "add", "."])
        return run([program, "run", "--files", changed])
    assert (setting("language"), setting("pass_filenames")) == ("system", "false")
    if not re.search(setting("files"), changed):
        return 0, ""
    return run(shlex.split(setting("entry")))


@pytest.mark.thorough
def test_the_hook_passes_a_bounded_job_and_stops_one_that_is_not(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".pre-commit-config.yaml").write_text(shown())
    job = tmp_path / setting("entry").split()[-1]
    job.parent.mkdir()
    (tmp_path / "README.md").write_text("a job")
    for name in ("orders", "paid"):
        (tmp_path / name).mkdir()
    job.write_text("raise SystemExit('not to be run')")
    assert committed(tmp_path, "README.md")[0] == 0
    job.write_text(JOB)
    code, said = committed(tmp_path, str(job.relative_to(tmp_path)))
    assert code == 0, said
    assert not (tmp_path / "out").exists()
    job.write_text(UNBOUNDED)
    code, said = committed(tmp_path, str(job.relative_to(tmp_path)))
    assert code != 0
    assert "query_1: UNBOUNDED" in said
