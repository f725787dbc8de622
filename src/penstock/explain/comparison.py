"""One job run both ways on the same rows: as values, as text, and as a page for a notebook.

`compare` measures; here it is only told. The answers of streams differ in when rows come: Spark holds rows without a
match, and groups, until its watermark has passed them, and Penstock gives them when they are certain. So they are right
if every row of Spark's is in the adopted job's answer, and every row of that in the answer at rest, over the same rows.
"""

from __future__ import annotations

from html import escape

from penstock.explain.comparison_svg import ComparedLine, state_plot
from penstock.records import record

SPARK, ADOPTED = "Spark's own plan", "adopted"


@record
class WayRun:
    """One way of running a job, batch by batch."""

    rows: tuple[int, ...]
    """The rows that each batch read."""
    seconds: tuple[float, ...]
    state_rows: tuple[int, ...]
    """The rows stored after each batch."""

    @property
    def rows_per_second(self) -> float:
        """Over all batches but the first, which starts workers and compiles; over that one if it is alone."""
        skipped = 1 if len(self.rows) > 1 else 0
        took = sum(self.seconds[skipped:])
        return sum(self.rows[skipped:]) / took if took else 0.0

    @property
    def most_stored(self) -> int:
        """The most rows stored after any batch."""
        return max(self.state_rows, default=0)


@record
class AnswersCompared:
    """The bags of rows that both ways gave."""

    rows: int
    """What the adopted job gave."""
    lacking: int
    """Rows of Spark's that the adopted job did not give."""
    more: int
    """Rows of the adopted job's that Spark did not give."""
    wrong: int | None
    """How many of these are not in the answer at rest; None if there is none to ask."""
    late: int
    """Rows that came later than their watermark allows."""
    by: tuple[str, ...] = ()
    """Where only these columns are compared: those that the rows are deduplicated by."""

    @property
    def are_equal(self) -> bool:
        """Whether the two are the same bag, or the adopted one has no more than what Spark holds back."""
        return not self.lacking and (not self.more or self.wrong == 0)

    def __str__(self) -> str:
        late = f"; {self.late:,} rows came later than their watermark allows: see docs/adopt.md" if self.late else ""
        if self.by:
            columns = ", ".join(self.by)
            late = f"; compared by {columns}: which of the rows that agree on these is kept, no column says{late}"
        if not self.lacking and not self.more:
            return f"equal: the same {self.rows:,} rows{late}"
        if self.are_equal:
            return (
                f"equal: {self.rows - self.more:,} rows, and {self.more:,} more that Spark holds back until its "
                f"watermark passes them, all of them in the answer at rest{late}"
            )
        found = [f"{self.lacking:,} rows of Spark's are lacking" if self.lacking else ""]
        if self.more and self.wrong is None:
            found += [f"{self.more:,} rows are more than Spark emitted, and this plan cannot be asked at rest"]
        elif self.wrong:
            found += [f"{self.wrong:,} of {self.more:,} rows that Spark did not emit are not in the answer at rest"]
        return f"NOT EQUAL: {'; '.join(filter(None, found))}{late}"


@record
class JobComparison:
    """One job both ways: rows a second, state, answers."""

    rows: int
    """The rows of the sample."""
    spark: WayRun
    adopted: WayRun
    answers: AnswersCompared

    @property
    def speed_ratio(self) -> float:
        """How many times as many rows a second the adopted job takes."""
        return self.adopted.rows_per_second / self.spark.rows_per_second if self.spark.rows_per_second else 0.0

    @property
    def state_ratio(self) -> float | None:
        """How many times as many rows Spark stores, at most; None if the adopted job stores none."""
        return self.spark.most_stored / self.adopted.most_stored if self.adopted.most_stored else None

    def __str__(self) -> str:
        table = self._table()
        widths = [max(len(row[place]) for row in table) for place in range(len(table[0]))]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
            for row in table
        ]
        return "\n".join([self._headline(), "", *lines, "", f"answers  {self.answers}"])

    def _repr_html_(self) -> str:
        head, *body = self._table()
        cells = "".join(f"<th>{escape(cell)}</th>" for cell in head)
        rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in body)
        return (
            f"<p>{escape(self._headline())}</p><table><tr>{cells}</tr>{rows}</table>"
            f"<p>answers: {escape(str(self.answers))}</p>{self.plot}"
        )

    @property
    def plot(self) -> str:
        """The rows stored after each batch, both ways, as SVG."""
        lines = (ComparedLine(SPARK, self.spark.state_rows), ComparedLine(ADOPTED, self.adopted.state_rows))
        return state_plot("rows stored after each batch", lines)

    def _headline(self) -> str:
        batches = sum(1 for rows in self.adopted.rows if rows)
        return f"both ways on the same {self.rows:,} rows, in {batches} batches"

    def _table(self) -> list[list[str]]:
        stored = "none" if self.state_ratio is None else f"1/{self.state_ratio:.1f}"
        return [
            ["", "rows/s", "seconds", "stored at most", "at the end"],
            [SPARK, *_figures(self.spark)],
            [ADOPTED, *_figures(self.adopted)],
            ["ratio", f"{self.speed_ratio:.1f}x", "", stored, ""],
        ]


def _figures(way: WayRun) -> list[str]:
    last = way.state_rows[-1] if way.state_rows else 0
    return [f"{way.rows_per_second:,.0f}", f"{sum(way.seconds):.1f}", f"{way.most_stored:,}", f"{last:,}"]
