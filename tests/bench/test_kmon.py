"""`penstock bench kmon`: its streams keep the k that is declared and no smaller one, by the paper's own definitions.

The whole experiment runs at a fiftieth of the size here; at full size under PENSTOCK_MEASURE=full.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from benchmarks.kmon.graphs import combination_of_ca_and_rids, graph_a, graph_b, graph_c
from benchmarks.kmon.linear_road import experiments, generated
from benchmarks.kmon.main import main
from benchmarks.kmon.plot import Plot
from benchmarks.kmon.runs import Driving, drive, drive_in_turn
from benchmarks.kmon.streams import clustering, interleaved, join_distance, scrambling

from tests.measure import FULL


@pytest.mark.parametrize("seed", range(30))
def test_distances_are_those_of_the_definitions(seed: int) -> None:
    chance = np.random.default_rng(seed)
    values = chance.integers(0, 8, chance.integers(1, 25))
    pairs = [(i, j) for j in range(len(values)) for i in range(j)]
    same = [int(np.sum(values[i:j] != values[i])) for i, j in pairs if values[i] == values[j]]
    assert clustering(values) == max(same, default=0)
    assert scrambling(values) == max([j - i for i, j in pairs if values[i] > values[j]], default=0)
    child = chance.permutation(12)[: chance.integers(1, 12)]
    made = interleaved(
        {
            "t": (chance.random(len(child)), {"a": child}),
            "s": (chance.random(len(values)), {"a": values}),
        }
    ).columns
    distances = [_distance(made, n, m) for n in range(len(values)) for m in range(len(child))]
    assert join_distance(made["s"], "a", made["t"], "a") == max(distances, default=0)


def _distance(made: Mapping[str, Mapping[str, Any]], n: int, m: int) -> int:
    """KMON 3.5, the join distance of row n of s and row m of t."""
    s, t = made["s"], made["t"]
    if s["a"][n] != t["a"][m] or t["seq"][m] < s["seq"][n]:
        return 0
    return int(np.sum((t["seq"] > s["seq"][n]) & (t["seq"] <= t["seq"][m])))


def test_constraints_keep_less_and_lose_nothing() -> None:
    for experiment in (graph_a(800, 60, 300), graph_b(500, 60, 300), graph_c(800, 60, 300)):
        swj, *others = (drive(experiment, way, 250) for way in experiment.ways if "learned" not in way)
        assert sum(swj.results) > 0
        for course in others:
            assert course.results == swj.results
            assert course.violations == 0
            assert course.final < swj.final


def test_linear_road_queries_have_answers_and_keep_less() -> None:
    for name, experiment in experiments(generated(30, 6, standing=0.1)).items():
        plain, with_them = (drive(experiment, way, 800) for way in experiment.ways)
        assert with_them.results == plain.results, name
        assert sum(plain.results) > 0, name
        assert with_them.final < plain.final, name


def test_a_plot_is_a_picture_with_all_its_lines() -> None:
    for log in (False, True):
        plot = Plot("a < b", "x", "y", {"one": [(0, 1), (10, 1000)], "two": [(0, 5), (10, 0)]}, log)
        root = ElementTree.fromstring(plot.svg())
        assert len(root.findall("{http://www.w3.org/2000/svg}polyline")) == 2
        assert "nan" not in plot.svg()
    ElementTree.fromstring(Plot("nothing", "x", "y", {}).svg())


@pytest.mark.measure
def test_the_experiments_give_right_answers_and_at_full_size_meet_their_targets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Small, on the core alone; at full size with the run on Spark."""
    figures = tmp_path / "figures.json"
    more = [] if FULL else ["--quick", "--core", "--only", "tracked"]
    code = main([*more, "--plots", str(tmp_path / "plots"), "--json", str(figures)])
    print(capsys.readouterr().out)
    found = json.loads(figures.read_text(encoding="utf-8"))
    assert found["wrong"] == []
    assert {p.name for p in (tmp_path / "plots").glob("*.svg")} >= {"figure_5.svg", "figure_7.svg", "figure_9.svg"}
    assert code == 0, [t for t in found["targets"] if not t["met"]]


@pytest.mark.parametrize("windowed", [True, False])
def test_figure_11_what_is_chosen_by_cost_keeps_about_the_less_of_the_two(windowed: bool) -> None:
    for k in (0, 400):
        experiment = combination_of_ca_and_rids(6_000, k, 1_000, windowed=windowed)
        ways = [("CA", None), ("CA and RIDS", False), ("CA and RIDS", True), ("CA and RIDS", None)]
        courses = drive_in_turn([Driving(experiment, way, 500, keys=keys) for way, keys in ways])
        assert len({course.results for course in courses}) == 1
        *others, chosen = (float(np.mean(course.kept)) for course in courses)
        assert chosen <= 1.25 * min(others), (k, others, chosen)
        _, forgotten, kept = others
        assert windowed or (forgotten < kept) == (k == 0), "without windows the two cross"


def test_a_learned_k_of_references_stays_near_the_one_in_the_data() -> None:
    """A k that was exceeded is learned anew from distances as they are, though places are forgotten meanwhile."""
    experiment = graph_a(6_000, 400, 2_000)
    course = drive(experiment, "RIDS, learned", 700, "MONITOR(1.0, 0.01, 50)")
    learned = [k for ks in course.k[10:] for k in ks.values() if k is not None]
    assert course.violations > 0
    assert len(learned) > 20
    assert max(learned) <= 400
