"""What `penstock run` asks of the driver's JVM, by what that has to do.

The JVM is handed rows, which it hands on and forgets; state is not on its heap, but for a few counts. So half of that
is for what is new, and the parallel collector keeps it. A JVM takes one collector: where the user asks for one, ours is
left out.

Where the packer decodes every stream, the JVM moves few and large rows. Its second compiler then takes a core of a
small machine for half a minute, and the code is no faster for it.

Not decided here: the size of the heap (`session.py`), and what a user gives as `spark.driver.defaultJavaOptions`, which
stands in the place of all this.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pyspark

_OURS, _USERS = "spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions"
_VARIABLES = ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS", "PYSPARK_SUBMIT_ARGS")
"""What else a JVM of PySpark's takes options from."""
_COLLECTOR = re.compile(r"-XX:\+Use\w+GC\b")

_SHORT_LIVES = "-XX:+UseParallelGC -XX:NewRatio=1"
_FIRST_COMPILER = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
"""With the first compiler alone the JVM keeps room for 48 MB of code; once that is full it compiles no more."""
_QUICK_CHILDREN = "-Djdk.lang.Process.launchMechanism=VFORK" if sys.platform == "linux" else ""
"""Hadoop starts `chmod` for every folder that it makes on a local disk, and Spark `rm` for those of RocksDB.

Each is there in 2 ms and not in 5 if the JVM does not start it by way of a helper. Of files see `file_modes.py`.
"""


def jvm_options(conf: Mapping[str, str], *, few_rows: bool) -> dict[str, str]:
    """The setting for a session with these settings of the user's; `few_rows` is whether it moves but packed ones."""
    parts = [_FIRST_COMPILER] if few_rows else []
    if not _asks_for_collector(conf):
        parts.append(_SHORT_LIVES)
    return {_OURS: " ".join([*parts, _QUICK_CHILDREN]).strip()}


def _asks_for_collector(conf: Mapping[str, str]) -> bool:
    told = [conf.get(_USERS, ""), *(os.environ.get(name, "") for name in _VARIABLES), _defaults()]
    return any(_COLLECTOR.search(text) for text in told)


def _defaults() -> str:
    """The file of settings that Spark reads by itself, where there is one."""
    home = os.environ.get("SPARK_HOME") or str(Path(pyspark.__file__).parent)
    folder = os.environ.get("SPARK_CONF_DIR") or os.path.join(home, "conf")
    try:
        lines = Path(folder, "spark-defaults.conf").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return "\n".join(line for line in lines if not line.lstrip().startswith("#"))
