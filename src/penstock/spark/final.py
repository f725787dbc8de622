"""`--final`: the end of every stream of a query, as a stream of its own.

Spark runs a batch only if a source has something new, and a query keeps the sources that its checkpoint began with. So
each query of a run reads one source more: a folder of the checkpoint that stays empty. When the run has read all that
is there and `--final` says that this was all, a file is put there; the batch that it makes is the last one of every
cell, in which all that waits is decided and emitted. It is read like any other input: killed in between, the next run
with `--final` goes on, and nothing is emitted twice.

Not decided here: whether more data comes after all. A checkpoint that was ended so takes none.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from penstock.errors import UsageError
from penstock.spark.cells import KeyedGrid
from penstock.spark.file_order import escaped
from penstock.spark.hadoop_path import AnyPath, replace_text
from penstock.spark.pack import END, PACKED

_FILE = "end.txt"


class End:
    """The folder that says when the streams of a query have ended."""

    def __init__(self, folder: AnyPath) -> None:
        self.folder = folder / "final"

    @property
    def _done(self) -> AnyPath:
        return self.folder.with_name("final.done")

    @property
    def is_declared(self) -> bool:
        """Whether `--final` has said that there is no more."""
        return (self.folder / _FILE).exists()

    def require(self, *, final: bool) -> None:
        """Raise UsageError if the streams have ended, unless what is left of that is to be done."""
        if self._done.exists() or (self.is_declared and not final):
            raise UsageError(
                f"the checkpoint {self.folder.parent} was ended by --final: it takes no more data",
                hint="use another --checkpoint"
                if self._done.exists()
                else "run it once more with --final, which was interrupted; then use another --checkpoint",
            )

    def declare(self) -> None:
        """Say that there is no more."""
        self.folder.mkdir(parents=True, exist_ok=True)
        replace_text(self.folder / _FILE, "end\n")

    def confirm(self) -> None:
        """All that waited was decided."""
        self._done.touch()

    def stream(self, spark: SparkSession, grid: KeyedGrid) -> DataFrame:
        """For each cell a packed row that ends its streams; none before the end."""
        # Spark asks for a folder to be there, but not for what a pattern names.
        said = spark.readStream.schema("value STRING").text(
            f"{escaped(str(self.folder.absolute()))}/[{_FILE[0]}]{_FILE[1:]}"
        )
        cells = ", ".join(map(str, grid.keys))
        rows = said.selectExpr(f"explode(array({cells})) AS cell")
        values = {"cell": "cell", "part": f"'{END}'"}
        columns = (column.split(" ") for column in PACKED.split(", "))
        return rows.selectExpr(*(f"CAST({values.get(name, 'NULL')} AS {kind}) AS {name}" for name, kind in columns))
