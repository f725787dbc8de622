"""What a script does beyond reading its sources and writing its sinks."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import penstock
from penstock.cli import app
from penstock.errors import UsageError
from penstock.sql.trust import beyond

STREAM = "CREATE STREAM s (k BIGINT, t STRING{derived}) USING json OPTIONS (path 'x'{options}){where};"


def script(select: str = "k FROM s", derived: str = "", options: str = "", where: str = "") -> penstock.Script:
    stream = STREAM.replace("{derived}", derived).replace("{options}", options).replace("{where}", where)
    return penstock.parse(f"{stream} SELECT {select};")


@pytest.mark.parametrize(
    "found",
    [
        script("reflect('java.lang.System', 'exit', 1) AS r FROM s"),
        script("`Reflect`('a', 'b') AS r FROM s"),
        script("system.builtin.try_reflect('a', 'b') AS r FROM s"),
        script("java_method /* c */ ('a', 'b') AS r FROM s"),
        script("transform(array(1), x -> reflect('a', 'b')) AS r FROM s"),
        script("k FROM s WHERE length(reflect('a', t)) > 0"),
        script("reflect('a', 'b') AS r, count(*) AS n FROM s GROUP BY reflect('a', 'b')"),
        script("/*+ BUDGET(9 ROWS), VALUE(length(reflect('a', a.t))) */ a.k FROM s a, s b WHERE a.k = b.k"),
        script(derived=", d STRING AS (reflect('a', t))"),
        script(where=" WHERE length(reflect('a', t)) > 0"),
        script("from_protobuf(t, 'M', '/etc/x.desc') AS r FROM s"),
        script("from_xml(t, 'a INT', map('rowValidationXSDPath', '/etc/passwd')) AS r FROM s"),
        script("from_xml(t, 'a INT', map(concat('rowValidation', 'XSDPath'), '/etc/passwd')) AS r FROM s"),
        script("from_xml(t, 'a INT COMMENT \\')\\'', map(concat('rowValidation', 'XSDPath'), 'x')) AS r FROM s"),
        script("schema_of_xml('<a/>', map(concat('rowValidation', 'XSDPath'), '/etc/passwd')) AS r FROM s"),
        script("k FROM s WHERE t <> r'\\' || reflect('a', 'b') || ''"),
        script("k FROM s WHERE t <> 'a\\' || reflect(' || reflect('a', 'b')"),
        script("from_avro(unhex(t), '\"int\"', map('avroSchema' || 'Url', '/etc/passwd')) AS r FROM s"),
        script(options=", avroschemaurl '/etc/passwd'"),
        script(options=", cleanSource 'delete'"),
        script(options=", cleanSource 'archive', sourceArchiveDir '/tmp/x'"),
    ],
)
def test_code_and_files_that_no_source_names(found: penstock.Script) -> None:
    assert beyond(found)
    with pytest.raises(UsageError, match="does more than read its sources"):
        penstock.stream(None, found)  # type: ignore[arg-type]  # refused before it is used


@pytest.mark.parametrize(
    "found",
    [
        script(),
        script("s.t AS reflect FROM s"),
        script(options=", cleanSource 'off'"),
        script("upper(t) AS u FROM s"),
        script("k FROM s WHERE t = 'reflect (on it)' OR t = 'it''s java_method('"),
        script("from_xml(t, 'a INT, b INT') AS r FROM s"),
    ],
)
def test_most_scripts_do_nothing_beyond(found: penstock.Script) -> None:
    assert beyond(found) == ()


def test_run_and_profile_refuse_and_check_does_not(tmp_path: Path) -> None:
    file = tmp_path / "stranger.sql"
    file.write_text("CREATE STREAM s (k BIGINT) USING json OPTIONS (path 'x'); SELECT reflect('a', 'b') AS r FROM s;")
    for command in (["run", str(file)], ["profile", str(file)], ["explain", str(file), "--curve", "9"]):
        ran = CliRunner().invoke(app, command)
        assert ran.exit_code == 2
        assert "reflect runs a method of any class" in ran.stderr
        assert "--trust-script" in ran.stderr
    assert CliRunner().invoke(app, ["check", str(file)]).exit_code == 0
