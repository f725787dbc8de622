"""`penstock bench shed`: every figure is drawn and told, the claims are judged at full size, missing data is named."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from benchmarks.shed.chart import drawn
from benchmarks.shed.figures import FULL, QUICK, Claim, Figure
from benchmarks.shed.main import DATA, main
from benchmarks.shed.on_spark import SparkSize, exact_results, offline_prob
from benchmarks.shed.report import as_text
from benchmarks.shed.streams import WEATHER, weather

from penstock.errors import UsageError
from tests.measure import FULL as IS_FULL

SVG = "{http://www.w3.org/2000/svg}"


def _run(folder: Path, *options: str) -> tuple[int, dict[str, list[dict[str, object]]]]:
    code = main([*options, "--json", str(folder / "shed.json"), "--plots", str(folder / "plots")])
    return code, json.loads((folder / "shed.json").read_text(encoding="utf-8"))


@pytest.mark.measure
def test_figures_4_to_13_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Small, the order of the policies is held; at full size every claim of the issue."""
    code, found = _run(tmp_path, *([] if IS_FULL else ["--quick"]))
    shown = capsys.readouterr().out
    print(shown)
    assert code == 0, shown
    numbers = [*range(4, 14)] if DATA.exists() else [*range(4, 12)]
    assert [figure["number"] for figure in found["figures"]] == numbers
    for figure in found["figures"]:
        assert f"Figure {figure['number']}: {figure['title']}" in shown
        series = figure["series"]
        assert isinstance(series, dict)
        if "OPT" in series:
            for exact, optv, opt, prob, rand in zip(
                *(series[name] for name in ("EXACT", "OPTV", "OPT", "PROB", "RAND")), strict=True
            ):
                assert exact >= optv >= opt >= prob >= rand
        picture = ElementTree.parse(tmp_path / "plots" / f"figure-{figure['number']}.svg").getroot()
        lines = [path for path in picture.iter(f"{SVG}path") if path.get("class") == "series"]
        assert len(lines) == 2 * len(series), "a line for each series, and one in the legend"


def test_absent_weather_is_said_and_the_rest_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = [word for number in (4, 12, 13) for word in ("--only", str(number))]
    code, found = _run(tmp_path, "--quick", *chosen, "--weather", str(tmp_path / "none"))
    assert code == 0
    assert [figure["number"] for figure in found["figures"]] == [4]
    shown = capsys.readouterr().out
    assert shown.count("not run: Figure 1") == 2
    assert WEATHER[0] in shown
    assert "none" in shown


def test_weather_of_another_shape_is_refused(tmp_path: Path) -> None:
    for name in WEATHER:
        with gzip.open(tmp_path / name, "wt", encoding="utf-8") as file:
            file.write("seq,cell\n1,2\n")
    with pytest.raises(UsageError, match="no column cell10"):
        weather(tmp_path)


def test_reports_of_both_hours_are_cut_to_the_shorter(tmp_path: Path) -> None:
    for name, cells in zip(WEATHER, (("a", "b", "c"), ("c", "a")), strict=True):
        with gzip.open(tmp_path / name, "wt", encoding="utf-8") as file:
            file.write("seq,cell10\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(cells)))
    both = weather(tmp_path)
    assert both is not None
    assert [stream.tolist() for stream in both] == [[0, 1], [2, 0]]


def _figure(**changes: object) -> Figure:
    plain = Figure(4, "a <title>", "x", "y", (1, 2, 3), {"one": (1.0, 20.0, 300.0), "two": (5.0, 5.0, 5.0)})
    return replace(plain, **changes)  # type: ignore[arg-type]


def test_claims_are_judged_at_the_size_of_the_paper_only() -> None:
    figure = _figure(claims=(Claim("speed", "1", "at least 2", False), Claim("share", "3", "at least 2", True)))
    full, quick = ("\n".join(as_text(size, [figure], [])) for size in (FULL, QUICK))
    assert "FAIL" in full
    assert "pass" in full
    assert quick.count("not judged at this size") == 2
    assert "the paper: ADG produces over 99.5 percent" in full


@pytest.mark.parametrize("is_logarithmic", [False, True])
def test_points_lie_where_their_values_are(is_logarithmic: bool) -> None:
    picture = ElementTree.fromstring(drawn(_figure(logarithmic=is_logarithmic)))
    dots = [(float(dot.get("cx", "")), float(dot.get("cy", ""))) for dot in picture.iter(f"{SVG}circle")]
    rising, level = dots[:3], dots[3:]
    assert rising[1][0] - rising[0][0] == pytest.approx(rising[2][0] - rising[1][0], abs=0.2)
    assert rising[0][1] > rising[1][1] > rising[2][1], "higher values lie higher"
    steps = rising[0][1] - rising[1][1], rising[1][1] - rising[2][1]
    assert (steps[0] > steps[1]) == is_logarithmic, "20 is nearer to 1 than to 300, but not in orders of magnitude"
    assert len({y for _, y in level}) == 1
    assert "a &lt;title&gt;" in drawn(_figure())


def test_prob_for_three_streams_gives_all_with_plenty_and_less_with_little() -> None:
    """With room for all rows it is the exact join at every batch; with less, never more than that."""
    keys = [np.random.default_rng(seed).integers(0, 6, 40) for seed in range(3)]
    size = SparkSize(4, 10, 6, 0.0)
    exact = exact_results(size, keys)
    counted = [
        sum(a == b == c for a in keys[0][:n] for b in keys[1][:n] for c in keys[2][:n]) for n in (10, 20, 30, 40)
    ]
    assert list(exact) == counted
    assert offline_prob(size, keys, 120) == exact
    found = offline_prob(size, keys, size.budget)
    assert all(0 < some <= every for some, every in zip(found, exact, strict=True))
    assert found[-1] < exact[-1]
