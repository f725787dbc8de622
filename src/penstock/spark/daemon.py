"""The parent of Spark's Python workers, started by Spark as `python -m penstock.spark.daemon`.

What every worker of a query runs is imported here, before Spark asks for the first: a worker is a fork of this process,
and has it at once. By itself each would take most of a second for it. Nothing else differs from Spark's own daemon.
"""

from __future__ import annotations

import gc
from contextlib import suppress
from importlib import import_module

SHARED = ("operator", "pack", "local_files", "plain_records", "unpack")
"""The modules of `penstock.spark` whose classes Spark hands to workers, with all that these import."""


if __name__ == "__main__":
    from pyspark.daemon import manager

    with suppress(ImportError):  # A worker that lacks something says so itself, where Spark tells it.
        for name in SHARED:
            import_module(f"penstock.spark.{name}")
    gc.freeze()
    manager()
