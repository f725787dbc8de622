"""Modes of local files, set by a call of the JVM's and not by a program that it starts.

Hadoop sets the mode of every file that it makes on a local disk. Without its native library, which pyspark does not
bring, it starts `chmod` for each, and waits: some fifteen times a batch, one after the other. `use_calls` has Hadoop's
own local file system set the same modes of files by a call of Java's instead; nothing else of it is another, checksums
included. It is put below the one file system of `file:` that Hadoop keeps for a JVM, so that all have it who write
there: on one machine the driver and the tasks, checkpoints and sinks.

Folders, of which a batch makes none, are left to `chmod`: it keeps their set-group-ID bit, which the call would clear.

The class is compiled in the JVM, by the compiler that Spark brings for code that it generates. Where that, or the place
in Hadoop, is another in some version, all stays as it was: only time is lost.
"""

from __future__ import annotations

import logging
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # py4j ships no types
from pyspark.sql import SparkSession

_CLASS = "penstock.ModesByCalls"
_SOURCE = """
package penstock;

public class ModesByCalls extends org.apache.hadoop.fs.RawLocalFileSystem {
  public void setPermission(
      org.apache.hadoop.fs.Path path, org.apache.hadoop.fs.permission.FsPermission mode) throws java.io.IOException {
    java.io.File file = pathToFile(path);
    if (file.isDirectory() || mode.getStickyBit()) {
      super.setPermission(path, mode);
    } else {
      java.nio.file.Files.setPosixFilePermissions(
          file.toPath(), java.nio.file.attribute.PosixFilePermissions.fromString(mode.toString()));
    }
  }
}
"""
_CHECKING = "org.apache.hadoop.fs.FilterFileSystem"
"""What keeps checksums beside files, and leaves the files themselves to the file system below it."""
_log = logging.getLogger(__name__)


def use_calls(session: SparkSession) -> bool:
    """Whether the JVM of this session now sets modes of local files by calls."""
    jvm: Any = session._jvm
    context: Any = session.sparkContext._jsc
    conf = context.hadoopConfiguration()
    place = jvm.java.net.URI.create("file:///")
    try:
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader())
        compiler.cook(_SOURCE)
        files = compiler.getClassLoader().loadClass(_CLASS).getDeclaredConstructor(None).newInstance(None)
        files.initialize(place, conf)
        below = jvm.java.lang.Class.forName(_CHECKING).getDeclaredField("fs")
        below.setAccessible(True)
        below.set(jvm.org.apache.hadoop.fs.FileSystem.get(place, conf), files)
    except Py4JError as error:
        _log.debug("modes of files are set by chmod: %s", error)
        return False
    return True
