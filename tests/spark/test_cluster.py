"""`penstock run` on a real cluster: one master, two workers, executors that are killed, a driver that is.

However Penstock reaches the executors: installed there, as a zip that comes with the job, in an environment that does.
Every answer is compared with the join of all rows.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyspark
import pytest

from tests.cluster.standalone import Cluster
from tests.spark.conftest import Bench, kill_session
from tests.spark.test_run import JOIN, KN, PLAIN, expected, rows

SOURCES = Path(__file__).parents[2] / "src"
LIBRARIES = str(Path(pyspark.__file__).parents[1])
BASE = str(Path(sys.executable).resolve())
"""The interpreter that the environment of the tests was made of: it has no Penstock."""
SMALL = {"spark.executor.memory": "512m", "spark.driver.memory": "1g", "spark.executor.cores": "1"}

Starting = Callable[[dict[str, str]], Cluster]


@pytest.fixture
def starting(tmp_path: Path) -> Iterator[Starting]:
    """Starts a cluster whose processes have that environment."""
    started: list[Cluster] = []

    def start(environment: dict[str, str]) -> Cluster:
        cluster = Cluster(tmp_path / "cluster", environment=environment)
        started.append(cluster)
        cluster.start()
        return cluster

    yield start
    for cluster in started:
        cluster.stop()


def fill(bench: Bench, batches: int) -> tuple[list[dict[str, int]], list[dict[str, int]]]:
    s, t = rows(0, batches * 20, keys=40), rows(1000, batches * 10, keys=40)
    for batch in range(batches):
        bench.write("s", s[batch * 20 : batch * 20 + 20], KN)
        bench.write("t", t[batch * 10 : batch * 10 + 10], KN)
    return s, t


def committed(bench: Bench) -> int:
    commits = bench.folder / "checkpoint" / "out" / "spark" / "commits"
    return len([p for p in commits.iterdir() if p.name.isdigit()]) if commits.is_dir() else 0


def wait_for(bench: Bench, batches: int, process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + 180
    while committed(bench) < batches:
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < until
        time.sleep(0.1)


def left(cluster: Cluster) -> list[Path]:
    """What the caches of all workers still hold."""
    return [path for worker in range(2) for path in cluster.temporary(worker).glob("penstock-cache-*/*")]


@pytest.mark.thorough
def test_executors_a_worker_and_the_driver_are_lost_and_the_answer_is_exact(outside: Bench, starting: Starting) -> None:
    cluster = starting({"PYTHONPATH": str(SOURCES)})
    s, t = fill(outside, 16)
    # However small they are, no entries lie in the commits, so that caches have something to keep.
    conf = {**SMALL, "spark.master": cluster.url, "penstock.segments": "1"}
    process = outside.start(PLAIN + JOIN, conf=conf)
    wait_for(outside, 2, process)
    assert left(cluster), "executors keep their cells warm in a folder of their own"
    cluster.kill_executor(0)
    wait_for(outside, 5, process)
    kill_session(process.pid)
    process.communicate()
    process = outside.start(PLAIN + JOIN, conf=conf)
    wait_for(outside, 8, process)
    cluster.kill_worker(1)
    ran = outside.finish(process)
    assert ran.code == 0, ran.err
    assert outside.sink() == expected(s, t)
    assert not list(cluster.temporary(0).glob("penstock-cache-*/*")), "what a query kept on a host that lives is gone"


def submitted(bench: Bench, cluster: Cluster, options: list[str], environment: dict[str, str]) -> None:
    """Run the same by `spark-submit`, and compare."""
    s, t = fill(bench, 2)
    job = bench.folder / "job.py"
    job.write_text("from penstock.cli import main\nmain()\n")
    conf = [word for name, value in SMALL.items() for word in ("--conf", f"{name}={value}")]
    submit = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
    arguments = bench.arguments(PLAIN + JOIN)
    ran = subprocess.run(
        [submit, "--master", cluster.url, *conf, *options, str(job), *arguments],
        env={**os.environ, **environment},
        cwd=bench.folder,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    assert bench.sink() == expected(s, t)
    # What a job says on either stream, `spark-submit` hands on as its output.
    assert "out: exact" in ran.stdout
    assert not left(cluster)


def test_a_zip_that_comes_with_the_job(outside: Bench, starting: Starting) -> None:
    packed = shutil.make_archive(str(outside.folder / "penstock"), "zip", SOURCES, "penstock")
    bare = {"PYTHONPATH": LIBRARIES, "PYSPARK_PYTHON": BASE, "PYSPARK_DRIVER_PYTHON": BASE}
    lacks = subprocess.run(
        [BASE, "-c", "import penstock"], env={**os.environ, **bare}, capture_output=True, check=False
    )
    assert lacks.returncode, "nothing is shown where it is installed"
    submitted(outside, starting(bare), ["--py-files", packed], bare)


@pytest.mark.thorough
def test_an_environment_that_comes_with_the_job(outside: Bench, starting: Starting) -> None:
    """The driver stands where the same archive is unpacked; executors unpack it themselves."""
    made = outside.folder / "environment"
    subprocess.run([BASE, "-m", "venv", "--without-pip", str(made)], check=True)
    packages = next(made.glob("lib/python*/site-packages"))
    (packages / "libraries.pth").write_text(f"{LIBRARIES}\n")
    shutil.copytree(SOURCES / "penstock", packages / "penstock")
    archive = outside.folder / "environment.tar.gz"
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(made, ".")
    bare = {"PYTHONPATH": "", "PYSPARK_PYTHON": "./environment/bin/python"}
    told = {**bare, "PYSPARK_DRIVER_PYTHON": str(made / "bin" / "python")}
    submitted(outside, starting(bare), ["--archives", f"{archive}#environment"], told)
