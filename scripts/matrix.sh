#!/bin/sh
# The versions of Python and Spark that Penstock says it runs on, each in an environment of its own under build/matrix:
# `make matrix`, or `sh scripts/matrix.sh 3.12 4.1` for one of them. A Python that is not here is told and left out.
set -eu
cd "$(dirname "$0")/.."
# A small case of everything that Spark does for us: types, state, restarts, groups, order, outer joins, sinks, sessions,
# and plans of jobs, which are read through Spark's own classes.
TESTS="tests/spark/test_run.py tests/spark/test_types.py tests/spark/test_checkpoint.py tests/spark/test_groups.py \
tests/spark/test_arrival.py tests/spark/test_outer.py tests/spark/test_final.py tests/spark/test_hadoop_path.py \
tests/spark/test_parquet_sink.py tests/spark/test_segment_files.py tests/spark/frames/test_adopt.py \
tests/spark/frames/test_promise.py tests/spark/frames/test_unread_nodes.py tests/spark/frames/test_worked_out.py \
tests/spark/frames/test_deduplicated_answers.py"

# The program of a version: on the path, or one that pyenv or uv has installed.
python_of() {
  for found in "python$1" "$HOME"/.pyenv/versions/"$1".*/bin/python "$HOME"/.local/share/uv/python/cpython-"$1".*/bin/python3; do
    if "$found" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$1')" 2>/dev/null; then
      echo "$found"
      return 0
    fi
  done
  return 1
}

try() {
  version="$1" spark="$2"
  if ! python="$(python_of "$version")"; then
    echo "Python $version is not on this machine, left out: uv python install $version brings it"
    return 0
  fi
  home="build/matrix/python$version-spark$spark"
  test -x "$home/bin/python" || "$python" -m venv "$home"
  "$home/bin/python" -m pip install --quiet --disable-pip-version-check -e '.[spark]' "pyspark==$spark.*" \
    'pytest>=8.4,<10' 'pytest-xdist>=3.6,<4' 'hypothesis>=6.130,<7'
  echo "Python $version, Spark $spark:"
  # Told apart by what the registry has: the connector of the tests is of one Spark.
  PENSTOCK_NO_CONNECTOR=1 "$home/bin/python" -m pytest -n 2 --dist worksteal -q -m "not thorough" $TESTS
}

if [ $# -eq 2 ]; then
  try "$1" "$2"
else
  for python in 3.11 3.12 3.13; do
    for spark in 4.1 4.2 4.3; do
      try "$python" "$spark"
    done
  done
fi
