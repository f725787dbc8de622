"""Writes the names of Spark's own functions into src/penstock/sql/spark_functions.py.

`python -m tests.spark.function_names`

They are those of SHOW SYSTEM FUNCTIONS of every version that Penstock runs on, of which the newest has them all, and
those that Spark's grammar knows and does not list. Run it once a newer one is supported;
`tests/spark/test_spark_functions.py` asks the Spark at hand.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

from pyspark.sql import SparkSession

OF_THE_GRAMMAR = frozenset({"timediff", "timestampadd", "timestampdiff", "try_cast"})
_FILE = Path(__file__).parents[2] / "src/penstock/sql/spark_functions.py"


def names_of(spark: SparkSession) -> list[str]:
    """The functions that a session has without anybody's doing, but those that are signs."""
    names = {row[0].lower() for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}
    return sorted(name for name in names | OF_THE_GRAMMAR if name.isidentifier())


def _written(names: list[str]) -> str:
    head, _, _ = _FILE.read_text().partition('frozenset(\n    """')
    lines = "\n    ".join(textwrap.wrap(" ".join(names), 110, break_on_hyphens=False))
    return f'{head}frozenset(\n    """{lines}""".split()  # noqa: SIM905\n)\n'


if __name__ == "__main__":
    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    _FILE.write_text(_written(names_of(session)))
    session.stop()
