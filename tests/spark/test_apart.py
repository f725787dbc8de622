"""What is written lies apart from what is read; file names are names, whatever characters they have."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from penstock import compile as way
from penstock.errors import UsageError
from penstock.spark.apart import require_apart
from tests.spark.conftest import Bench

SCRIPT = """
CREATE STREAM s (k BIGINT, n BIGINT) USING json OPTIONS (path '{source}'{options});
CREATE SINK out USING json OPTIONS (path '{sink}');
INSERT INTO out SELECT /*+ BUDGET(9 ROWS), ARCHIVE('{archive}') */ a.n FROM s a, s b WHERE a.k = b.k;
"""


@pytest.mark.parametrize(
    ("source", "written", "is_apart"),
    [
        ("data", "out", True),
        ("data", "data2", True),
        ("data", "data", False),
        ("data", "data/out", False),
        ("data/s", "data", False),
        ("data", "link/out", False),
        ("link", "data/out", False),
        ("file:{folder}/data", "data/out", False),
        ("data/*.json", "data/out", True),
        ("data/*", "data/out", False),
        ("data/{a,b}/*.json", "data/a", False),
        ("data/../out", "out", False),
        ("s3a://b/data", "data", True),
        ("s3a://b/data", "s3a://b/data/out", False),
    ],
)
@pytest.mark.parametrize("what", ["sink", "archive", "checkpoint"])
def test_where_something_is_read_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, source: str, written: str, what: str, is_apart: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "data")
    if "://" in written and what != "sink":
        return
    paths = {
        "sink": "elsewhere/sink",
        "archive": "elsewhere/archive",
        "checkpoint": "elsewhere/checkpoint",
        what: written,
    }
    text = SCRIPT.replace("{source}", source.replace("{folder}", str(tmp_path))).replace("{options}", "")
    script = way.parse(text.replace("{sink}", paths["sink"]).replace("{archive}", paths["archive"]))
    plan = way.runnable_plan(script.queries[0], way.check(script), allow_unbounded=True)
    if is_apart:
        require_apart(script, [plan], script.sinks, paths["checkpoint"])
    else:
        with pytest.raises(UsageError, match="the folder that stream s is read from"):
            require_apart(script, [plan], script.sinks, paths["checkpoint"])


def test_links_within_a_folder_that_is_read_with_all_below_it(tmp_path: Path) -> None:
    (tmp_path / "data" / "deep").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (tmp_path / "data" / "deep" / "more").symlink_to(tmp_path / "out")
    text = SCRIPT.replace("{source}", str(tmp_path / "data")).replace("{archive}", str(tmp_path / "archive"))
    text = text.replace("{sink}", str(tmp_path / "out" / "answer"))
    for options, is_apart in (("", True), (", recursiveFileLookup 'true'", False)):
        script = way.parse(text.replace("{options}", options))
        plan = way.runnable_plan(script.queries[0], way.check(script), allow_unbounded=True)
        if is_apart:
            require_apart(script, [plan], script.sinks, None)
        else:
            with pytest.raises(UsageError):
                require_apart(script, [plan], script.sinks, None)


@pytest.mark.thorough
@pytest.mark.usefixtures("spark")
def test_a_folder_with_the_characters_of_a_pattern_is_that_folder(tmp_path: Path) -> None:
    odd = Bench(tmp_path / "a[1] {b,c}*?")
    odd.folder.mkdir()
    kn = pa.schema([("k", pa.int64()), ("n", pa.int64())])
    odd.write("s", [{"k": 1, "n": 2}], kn, "x[0].parquet")
    odd.write("s", [{"k": 2, "n": -3}], kn, "y?.parquet")
    odd.write_text("t", "z{1}.json", '{"k": 1, "m": 5}\n{"k": 1, "m": "x"}\n')
    ran = odd.run(
        """
        CREATE STREAM s (k BIGINT, n BIGINT, ORDERED BY k WITHIN 9 ROWS, CHECK (n > 0))
          USING parquet OPTIONS (path '{data}/s', maxFilesPerTrigger '1');
        CREATE STREAM t (k BIGINT, m BIGINT, ON MALFORMED QUARANTINE INTO odd) USING json
          OPTIONS (path '{data}/t', maxFilesPerTrigger '1');
        CREATE SINK out USING json OPTIONS (path '{out}/answer');
        CREATE SINK odd USING parquet OPTIONS (path '{out}/odd');
        INSERT INTO out SELECT s.n, t.m FROM s, t WHERE s.k = t.k;
        """
    )
    assert ran.code == 0, ran.err
    answer = [text for path in (odd.folder / "out" / "answer").glob("*.json") for text in path.read_text().split()]
    assert answer == ['{"n":2,"m":5}']
    assert list((odd.folder / "out" / "odd").glob("*.parquet"))
