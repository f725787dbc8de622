"""Modes of local files are those that Hadoop sets, and nothing else of its file system is another."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.spark.file_modes import use_calls


class _Files:
    """Hadoop's file system of this machine, as the JVM of a session has it."""

    def __init__(self, session: SparkSession) -> None:
        jvm: Any = session._jvm
        context: Any = session.sparkContext._jsc
        self.path = jvm.org.apache.hadoop.fs.Path
        self.mode = jvm.org.apache.hadoop.fs.permission.FsPermission
        self.opened = jvm.org.apache.hadoop.fs.FileSystem.get(
            jvm.java.net.URI.create("file:///"), context.hadoopConfiguration()
        )
        self._below = jvm.java.lang.Class.forName("org.apache.hadoop.fs.FilterFileSystem").getDeclaredField("fs")
        self._below.setAccessible(True)

    @property
    def below(self) -> Any:
        return self._below.get(self.opened)

    @below.setter
    def below(self, files: Any) -> None:
        self._below.set(self.opened, files)

    def write(self, file: Path, text: bytes) -> None:
        out = self.opened.create(self.path(file.as_uri()), True)
        out.write(bytearray(text))
        out.close()


@pytest.fixture
def files(spark: SparkSession) -> Iterator[_Files]:
    found = _Files(spark)
    before = found.below
    yield found
    found.below = before


def test_files_have_the_modes_and_checksums_that_they_had(files: _Files, spark: SparkSession, tmp_path: Path) -> None:
    files.write(tmp_path / "before", b"text")
    kind = files.opened.getClass().getName()
    assert use_calls(spark)
    assert (files.opened.getClass().getName(), files.below.getClass().getName()) == (kind, "penstock.ModesByCalls")
    files.write(tmp_path / "after", b"text")
    assert (tmp_path / "after").read_bytes() == b"text"
    for name in ("{}", ".{}.crc"):
        before, after = (tmp_path / name.format(when) for when in ("before", "after"))
        assert after.stat().st_mode == before.stat().st_mode
        assert after.read_bytes() == before.read_bytes()


@pytest.mark.parametrize("mode", ["600", "644", "750", "1644"])
def test_a_mode_is_set_as_chmod_sets_it(mode: str, files: _Files, spark: SparkSession, tmp_path: Path) -> None:
    assert use_calls(spark)
    file = tmp_path / "file"
    file.touch()
    files.opened.setPermission(files.path(file.as_uri()), files.mode(mode))
    assert stat.S_IMODE(file.stat().st_mode) == int(mode, 8)


def test_a_folder_keeps_its_group(files: _Files, spark: SparkSession, tmp_path: Path) -> None:
    assert use_calls(spark)
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(0o2755)
    files.opened.setPermission(files.path(folder.as_uri()), files.mode("700"))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o2700


def test_a_file_that_is_there_is_not_renamed_over(files: _Files, spark: SparkSession, tmp_path: Path) -> None:
    """Spark's logs of batches rest on it: a batch that was written is not written over."""
    assert use_calls(spark)
    for name in ("one", "other"):
        files.write(tmp_path / name, name.encode())
    one, other = (files.path((tmp_path / name).as_uri()) for name in ("one", "other"))
    assert not files.opened.rename(one, other)
    assert (tmp_path / "other").read_bytes() == b"other"


def test_where_the_jvm_has_no_such_compiler_all_stays_as_it_was(
    files: _Files, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files.below.getClass().getName()
    monkeypatch.setattr("penstock.spark.file_modes._SOURCE", "no Java")
    assert not use_calls(spark)
    assert files.below.getClass().getName() == before
