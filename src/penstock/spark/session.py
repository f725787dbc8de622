"""A Spark session with what the engine needs, and one sentence where there is no Java."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from weakref import WeakKeyDictionary

from pyspark.errors import IllegalArgumentException, PySparkRuntimeError
from pyspark.sql import SparkSession

from penstock.errors import MachineError, UsageError
from penstock.spark.file_modes import use_calls
from penstock.spark.unstarted import unstarted

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
ON_HEAP = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
"""The store that Spark has by default; what is in it lies on the heap of the executors."""
_LEAST_JAVA = 17
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
PARTITIONS = "spark.sql.shuffle.partitions"

SETTINGS = {
    PROVIDER: ROCKSDB,
    # Write what a batch changed, not a snapshot of all.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # A chunk is packed whole; Arrow batches of 10,000 rows would cost a pass each.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000000",
    "spark.sql.session.timeZone": "UTC",
    # What is shuffled is packed Arrow: compressing and expanding it costs more time than it saves.
    "spark.shuffle.compress": "false",
    # On TCP a worker waits 40 ms for its first row: what is written in two pieces waits for a delayed acknowledgement.
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
    "spark.sql.adaptive.enabled": "false",
    # Kubernetes waits 30 seconds after SIGTERM; a source that waits for brokers that are away would take a minute.
    "spark.sql.streaming.stopTimeout": "15s",
    # The other manager asks the shell for links and modes of every file it writes: some 90 processes a batch.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}
"""What `penstock run` sets unless --conf says otherwise."""

IMPORTED = {"spark.python.daemon.module": "penstock.spark.daemon"}
"""What it also sets on one machine: workers that have imported what they run.

On a cluster Penstock may come to the workers with the job (`--py-files`), after the parent of all of them has started.
"""

UNCHECKED = {
    "spark.shuffle.checksum.enabled": "false",
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "false",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "false",
    "spark.sql.shuffle.orderIndependentChecksum.enableQueryLevelRollbackOnMismatch": "false",
    "spark.broadcast.checksum": "false",
    "spark.broadcast.compress": "false",
}
"""And of what one process hands to itself.

Spark adds up all that is shuffled, twice, and all that is broadcast: to find out what a disk or a network spoilt, and
whether a task that is done again gives what its first attempt gave. On one machine no task that has given something is
done again, unless the whole batch is.
"""
_WORKER_PATH = Path(__file__).parent / "worker_path"
"""What Python processes that Spark starts on one machine have on their path: they import what is compiled already."""


def start_session(name: str, conf: Mapping[str, str]) -> SparkSession:
    """The session that `penstock run` works in."""
    need_java()
    # Spark starts Python by name; without this it may find one that has no pyarrow.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    # In Spark's own default of 1 GiB the collector takes a tenth of the time; a setting of the user's wins.
    os.environ.setdefault("SPARK_DRIVER_MEMORY", "2g")
    builder = SparkSession.builder.appName(name)
    # What `spark-submit` starts has its master already.
    is_submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    master = conf.get("spark.master") or os.environ.get("MASTER") or ("" if is_submitted else "local[*]")
    if master and not is_submitted:
        builder = builder.master(master)
    is_here = master.startswith("local")
    for key, value in {**SETTINGS, **(IMPORTED | UNCHECKED if is_here else {}), **conf}.items():
        builder = builder.config(key, value)
    # A JVM that runs already has its error stream.
    has_errors_here = bool(os.environ.get("PENSTOCK_DEBUG")) or SparkSession.getActiveSession() is not None
    try:
        with nullcontext() if has_errors_here else _errors_into_log():
            session = builder.getOrCreate()
            # A new session looks at its settings when it is first asked for one.
            session.conf.get(PROVIDER, None)
    except PySparkRuntimeError as error:
        if "JAVA_GATEWAY_EXITED" not in str(error):
            raise
        raise unstarted(None if has_errors_here else spark_log()) from error
    except IllegalArgumentException as error:
        said = str(error).splitlines()[0]
        raise UsageError("Spark does not take a setting", detail=said, hint="see what --conf says") from error
    session.sparkContext.setLogLevel("ERROR")
    if is_here:
        session.sparkContext.environment["PYTHONPATH"] = str(_WORKER_PATH)
        use_calls(session)
    return session


@contextmanager
def set_meanwhile(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """What a session is told for a while; then it has what it had."""
    before = {name: session.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, had in before.items():
            if had is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, had)


_set_by_us: WeakKeyDictionary[SparkSession, set[str]] = WeakKeyDictionary()
"""The settings that a session lacked."""


def make_ready(session: SparkSession) -> None:
    """Set what the engine needs of a session where the user did not, and say so, once; raises UsageError otherwise.

    State is kept in RocksDB. A task for each core is enough, and every partition beyond costs a store and a worker in
    each batch: Spark's own 200 would take most of the time. On one machine the workers run the Python of this program:
    Spark takes the `python3` of the PATH, which in an environment that was not activated is one without Penstock.
    """
    if not hasattr(session, "_jsparkSession"):
        raise UsageError(
            "Penstock puts its operators into Spark's own session, and a client of Spark Connect has none",
            hint="use a classic SparkSession (spark.master, not spark.remote)",
        )
    needed = {PROVIDER: ROCKSDB, PARTITIONS: str(session.sparkContext.defaultParallelism)}
    missing = {name: value for name, value in needed.items() if session.conf.get(name, None) is None}
    for name, value in missing.items():
        session.conf.set(name, value)
    _set_by_us.setdefault(session, set()).update(missing)
    missing |= _with_our_python(session)
    if missing:
        shown = ", ".join(f"{name}={value}" for name, value in missing.items())
        sys.stderr.write(f"penstock: set in this session: {shown}\n")
    if session.conf.get(PROVIDER) != ROCKSDB:
        raise UsageError(
            "Penstock keeps its state in Spark's RocksDB store, and this session uses another",
            hint=f'spark.conf.set("{PROVIDER}", "{ROCKSDB}")',
        )


def few_partitions(session: SparkSession) -> dict[str, str]:
    """As many partitions as there are cores, where the user did not say how many; Spark's own 200 are for clusters."""
    if session.conf.get(PARTITIONS, None) is not None:
        return {}
    return {PARTITIONS: str(max(2, session.sparkContext.defaultParallelism))}


def run_our_python(session: SparkSession) -> None:
    """Have workers run the Python of this program, as `make_ready` does, and say so; it need not keep state."""
    for name, value in _with_our_python(session).items():
        sys.stderr.write(f"penstock: set in this session: {name}={value}\n")


def _with_our_python(session: SparkSession) -> dict[str, str]:
    """What was set so that workers run it. A function notes which Python runs it when it is put into a plan."""
    if not _lacks_our_python(session):
        return {}
    session.sparkContext.pythonExec = sys.executable
    return {"PYSPARK_PYTHON": sys.executable}


def _lacks_our_python(session: SparkSession) -> bool:
    """Whether workers would run another Python than this program, and nobody asked for it."""
    context = session.sparkContext
    if "PYSPARK_PYTHON" in os.environ or not str(context.master).startswith("local"):
        return False
    found, ours = shutil.which(context.pythonExec), Path(sys.executable)
    # `python` and `python3` of one folder are one; an environment's own leads to the one that it was made of.
    return found is None or Path(found).parent != ours.parent or Path(found).resolve() != ours.resolve()


@contextmanager
def own_store(session: SparkSession) -> Iterator[None]:
    """Queries that start meanwhile keep their state where they would if Penstock had not been used in the session."""
    if PROVIDER not in _set_by_us.get(session, ()):
        yield
        return
    session.conf.unset(PROVIDER)
    try:
        yield
    finally:
        session.conf.set(PROVIDER, ROCKSDB)


_log: Path | None = None


def spark_log() -> Path:
    """Where Spark's own words of this process go."""
    return _log or Path(tempfile.gettempdir()) / f"penstock-spark-{os.getpid()}.log"


@contextmanager
def _errors_into_log() -> Iterator[None]:
    """The JVM inherits our error stream when it starts: a file keeps its traces from burying our sentences.

    The file is new, and under a name that nobody could guess: the temporary folder is open to others.
    """
    global _log  # noqa: PLW0603 - one process has one JVM, and it has one log
    sys.stderr.flush()
    ours = os.dup(2)
    log, name = tempfile.mkstemp(prefix=f"penstock-spark-{os.getpid()}-", suffix=".log")
    _log = Path(name)
    os.dup2(log, 2)
    try:
        yield
    finally:
        os.dup2(ours, 2)
        os.close(ours)
        os.close(log)


def need_java() -> None:
    """Raise MachineError, in one sentence, if there is no Java that Spark can use."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    advice = "install a JDK 17 (Debian: apt-get install openjdk-17-jdk-headless) or set JAVA_HOME"
    if not java or not os.access(java, os.X_OK):
        raise MachineError(f"Penstock runs on Spark, which needs a JDK 17: {advice}")
    shown = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = shown.split('"')[1].split(".")[0] if '"' in shown else ""
    if not version.isdigit() or int(version) < _LEAST_JAVA:
        raise MachineError(f"Spark needs a JDK 17 or newer, and {java} is {version or 'none'}: {advice}")
