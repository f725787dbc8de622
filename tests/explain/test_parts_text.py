"""What is said of parts."""

from __future__ import annotations

import penstock
from penstock.explain.parts_text import held_back, parts_lines

SCRIPT = "CREATE STREAM s (p INT, ts TIMESTAMP, EVENT TIME ts{idle}{parts}); SELECT p FROM s;"


def lines(idle: str, parts: str) -> list[str]:
    (stream,) = penstock.parse(SCRIPT.format(idle=idle, parts=parts)).streams
    return parts_lines(stream)


def test_how_a_stream_with_parts_keeps_its_order() -> None:
    assert lines("", "") == []
    (text,) = lines("", ", PARTS BY p")
    assert text.endswith("one that falls silent holds its clock back")
    (text,) = lines(" IDLE AFTER 10 MINUTES", ", PARTS BY p")
    assert text.startswith("by p: ")
    assert "10 MINUTES" in text


def test_the_partitions_of_a_topic_are_its_parts() -> None:
    (stream,) = penstock.parse("CREATE STREAM s (n INT) USING kafka OPTIONS (subscribe 't'); SELECT n FROM s;").streams
    assert parts_lines(stream)[0].startswith("the partitions of its topics: in order within each")


def test_the_part_that_holds_the_clock_back_is_named_where_its_name_is_known() -> None:
    assert held_back("s", {"waited": 10, "slowest": 3}).startswith("s: its part 3 has brought no row for 10 batches")
    assert held_back("s", {"waited": 10}).startswith("s: one of its parts has")
