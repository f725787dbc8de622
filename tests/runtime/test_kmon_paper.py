"""KMON's worked examples, by their numbers, on the core: what is emitted, what stays and what is let go.

Figure 2(a) is S1(A, B) -> S2(A, C), S1 -> S3(B, D) with the filter D < 8 on S3; Figure 2(b) is S1(A, B) -> S2(B, C) ->
S3(C, D). Many-one joins are PRIMARY KEYs of the child. A stored row is in the paper's Yes or Unknown, a promise row in
its No. Every arrival is a batch of its own.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.runtime import Batch, Cell, Chunk
from penstock.runtime.promise.keys import KeyWatch
from penstock.runtime.state.synopsis import ALL
from tests.runtime.driving import plan_of

Row = tuple[int, ...]


class Figure:
    """A join graph of the paper, fed row by row."""

    def __init__(self, columns: dict[str, str], where: str, filtered: str | None = None, **declared: str) -> None:
        self.columns = {stream: names.split() for stream, names in columns.items()}
        self.filtered = filtered
        text = ""
        for stream, names in self.columns.items():
            fields = ", ".join(f"{name} BIGINT" for name in names)
            text += f"CREATE STREAM {stream} ({fields}{', ' + declared[stream] if declared.get(stream) else ''});"
        shown = list({name: f"{stream}.{name}" for stream, names in self.columns.items() for name in names}.values())
        text += f"SELECT {', '.join(shown)} FROM {', '.join(columns)} WHERE {where}"
        self.plan = plan_of(text + ";")
        self.cell = Cell(self.plan)
        self.number = 0

    def arrive(self, stream: str, *rows: Row) -> list[Row]:
        """Rows arrive one by one; gives what is emitted."""
        emitted: list[Row] = []
        for row in rows:
            chunks = []
            for name, columns in self.columns.items():
                given = [row] if name == stream else []
                table = pa.table({c: pa.array([r[n] for r in given], pa.int64()) for n, c in enumerate(columns)})
                passes = {name: pc.less(table.column(columns[-1]), 8)} if name == self.filtered else None
                chunks.append(Chunk.of(self.plan, name, 0, table, passes))
            found = self.cell.step(Batch(self.number, tuple(chunks))).rows
            self.number += 1
            emitted += zip(*(column.to_pylist() for column in found.columns), strict=True)
        return emitted

    def stored(self, stream: str) -> list[Row]:
        synopsis = self.cell.synopses[stream]
        ids = synopsis.ids(ALL)
        return sorted(zip(*(synopsis.arrow(c, ids).to_pylist() for c in self.columns[stream]), strict=True))

    def closed_keys(self, stream: str) -> list[Any]:
        """The No component: keys of the stream that are remembered without their rows, and nothing but keys."""
        (watch,) = [w for w in self.cell.watches if isinstance(w, KeyWatch) and w.alias == stream]
        assert watch.ghosts.columns == watch.columns
        return sorted(watch.ghosts.arrow(watch.columns[0], watch.ghosts.ids(ALL)).to_pylist())


def figure_2a(s1: str = "", s3: str = "") -> Figure:
    figure = Figure(
        {"s1": "a b", "s2": "a c", "s3": "b d"},
        "s1.a = s2.a AND s1.b = s3.b AND s3.d < 8",
        "s3",
        s1=s1,
        s2="PRIMARY KEY (a)",
        s3="PRIMARY KEY (b)" + (f", {s3}" if s3 else ""),
    )
    figure.arrive("s2", (6, 20), (4, 15))
    figure.arrive("s3", (7, 9), (5, 3), (10, 12))
    return figure


def figure_2b() -> Figure:
    columns = {"s1": "a b", "s2": "b c", "s3": "c d"}
    return Figure(columns, "s1.b = s2.b AND s2.c = s3.c", s2="PRIMARY KEY (b)", s3="PRIMARY KEY (c)")


def test_example_3_1() -> None:
    figure = figure_2a()
    assert figure.closed_keys("s3") == [7, 10]
    assert figure.arrive("s1", (6, 5)) == [(6, 5, 20, 3)]
    assert figure.arrive("s1", (8, 10)) == []
    assert figure.stored("s1") == [], "the one is complete (Theorem 3.5), the other is in No, and S1 is the root"


def test_example_3_2() -> None:
    figure = figure_2b()
    figure.arrive("s2", (2, 4))
    assert figure.arrive("s1", (1, 2)) == []
    assert figure.stored("s1") == [(1, 2)], "Unknown: the child of its child has not come"
    assert figure.arrive("s3", (4, 12)) == [(1, 2, 4, 12)]
    assert figure.stored("s1") == []


def test_example_4_1() -> None:
    figure = figure_2a(s1="FOLLOWS s3 (b) ON (b) WITHIN 1 ROWS")
    assert figure.closed_keys("s3") == [], "RIDS leaves No out"
    figure.arrive("s1", (4, 10))
    assert figure.stored("s1") == [(4, 10)]
    figure.arrive("s3", (11, 1))
    assert figure.stored("s1") == []


def test_example_5_1() -> None:
    figure = figure_2a(s1="CLUSTERED BY b WITHIN 1 ROWS")
    assert figure.arrive("s1", (6, 5), (8, 8), (4, 5)) == [(6, 5, 20, 3), (4, 5, 15, 3)]
    assert figure.stored("s3") == [(5, 3)]
    assert figure.arrive("s1", (11, 10)) == []
    assert figure.stored("s1") == [(8, 8)]
    assert figure.stored("s3") == [], "two values other than 5 came after the first 5, and no row of S1 waits with 5"
    assert figure.closed_keys("s3") == [7, 10]


EXAMPLE_8_1 = ((4, 5), (6, 8), (3, 13))


def test_example_8_1_i_with_clusters_alone() -> None:
    figure = figure_2a(s1="CLUSTERED BY a")
    assert figure.arrive("s1", *EXAMPLE_8_1) == [(4, 5, 15, 3)]
    assert figure.stored("s2") == [(6, 20)], "its parent (6, 8) is Unknown"


def test_example_8_1_ii_with_order_alone() -> None:
    figure = figure_2a(s3="ORDERED BY b WITHIN 2 ROWS")
    assert figure.arrive("s1", *EXAMPLE_8_1) == [(4, 5, 15, 3)]
    assert figure.stored("s2") == [(4, 15), (6, 20)]


def test_example_8_1_iii_the_combination_removes_what_neither_does() -> None:
    # The rows of S3 in the figure's order keep OA(1), and 10 is closed below once one more row came.
    figure = Figure(
        {"s1": "a b", "s2": "a c", "s3": "b d"},
        "s1.a = s2.a AND s1.b = s3.b AND s3.d < 8",
        "s3",
        s1="CLUSTERED BY a",
        s2="PRIMARY KEY (a)",
        s3="PRIMARY KEY (b), ORDERED BY b",
    )
    figure.arrive("s2", (6, 20), (4, 15))
    figure.arrive("s3", (5, 3), (7, 9), (10, 12))
    assert figure.arrive("s1", *EXAMPLE_8_1) == [(4, 5, 15, 3)]
    assert figure.stored("s1") == [(3, 13)], "OAC lets (6, 8) go: 10 has come, and no 8"
    assert figure.stored("s2") == [], "and CA then (6, 20), which it could not alone"


EXAMPLE_8_2 = ((6, 10), (4, 10), (8, 8))


def test_example_8_2_i_with_clusters_alone() -> None:
    figure = figure_2a(s1="CLUSTERED BY b")
    figure.arrive("s1", *EXAMPLE_8_2)
    assert figure.stored("s1") == [(8, 8)]
    assert figure.closed_keys("s3") == [7], "10 went with its cluster"


def test_example_8_2_ii_with_follows_no_is_kept_where_that_is_cheaper_so_nothing_waits() -> None:
    figure = figure_2a(s1="CLUSTERED BY b, FOLLOWS s3 (b) ON (b) WITHIN 3 ROWS")
    figure.arrive("s1", *EXAMPLE_8_2)
    assert figure.stored("s1") == [(8, 8)]


def test_example_8_2_ii_with_follows_rows_wait_where_no_is_left_out() -> None:
    figure = figure_2a(s1="CLUSTERED BY b WITHIN 9 ROWS, FOLLOWS s3 (b) ON (b) WITHIN 3 ROWS")
    assert figure.closed_keys("s3") == []
    figure.arrive("s1", *EXAMPLE_8_2)
    assert figure.stored("s1") == [(4, 10), (6, 10), (8, 8)]
    figure.arrive("s3", (20, 1), (21, 1))
    assert len(figure.stored("s1")) == 3
    figure.arrive("s3", (22, 1))
    assert figure.stored("s1") == []


def test_example_c_1_a_dag_whose_paths_end_in_different_rows() -> None:
    # Figure 17(a): S1(A, B) -> S2(A, C), S1 -> S3(B, C), and both meet S4(C).
    figure = Figure(
        {"s1": "a b", "s2": "a c", "s3": "b c", "s4": "c e"},
        "s1.a = s2.a AND s1.b = s3.b AND s2.c = s4.c AND s3.c = s4.c",
        s2="PRIMARY KEY (a)",
        s3="PRIMARY KEY (b)",
        s4="PRIMARY KEY (c)",
    )
    figure.arrive("s4", (7, 1), (8, 1))
    figure.arrive("s2", (3, 7))
    figure.arrive("s3", (4, 8), (5, 7))
    assert figure.arrive("s1", (3, 4)) == []
    assert figure.stored("s1") == [], "both children are there, but they do not agree: the row is in No"
    assert len(figure.arrive("s1", (3, 5))) == 1


def test_example_d_1_a_cycle() -> None:
    # Figure 17(b): S1(A, B) -> S2(B, C) -> S3(C, A) -> S1.
    figure = Figure(
        {"s1": "a b", "s2": "b c", "s3": "c a"},
        "s1.b = s2.b AND s2.c = s3.c AND s3.a = s1.a",
        s1="PRIMARY KEY (a)",
        s2="PRIMARY KEY (b)",
        s3="PRIMARY KEY (c)",
    )
    figure.arrive("s3", (3, 1))
    figure.arrive("s2", (2, 3))
    assert (figure.stored("s2"), figure.stored("s3")) == ([(2, 3)], [(3, 1)])
    assert len(figure.arrive("s1", (1, 2))) == 1, "no deadlock among rows that wait for each other"
    assert figure.stored("s1") == figure.stored("s3") == []
    assert figure.arrive("s1", (4, 2)) == []
    assert (4, 2) not in figure.stored("s1"), "its child's child names another row of S1"


def test_example_f_1() -> None:
    figure = figure_2a(s3="ORDERED BY b WITHIN 2 ROWS")
    assert figure.closed_keys("s3") == [], "OAC leaves No out"
    figure.arrive("s1", (6, 4))
    assert figure.stored("s1") == [], "4 < 7: its child came and was in No, or never comes"
    figure.arrive("s1", (6, 8))
    assert figure.stored("s1") == [(6, 8)]
