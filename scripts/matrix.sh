#!/bin/sh
# The versions of Python and Spark that Penstock says it runs on, each in an environment of its own under build/matrix:
# `make matrix`, or `sh scripts/matrix.sh 3.12 4.1` for one of them. A Python that is not here is told and left out.
set -eu
cd "$(dirname "$0")/.."
# A small case of everything that Spark does for us: types, state, restarts, groups, order, outer joins, sessions.
TESTS="tests/spark/test_run.py tests/spark/test_types.py tests/spark/test_checkpoint.py tests/spark/test_groups.py \
tests/spark/test_arrival.py tests/spark/test_outer.py tests/spark/test_final.py tests/spark/test_hadoop_path.py"

try() {
  python="$1" spark="$2"
  if ! "python$python" -c "" 2>/dev/null; then
    echo "python$python: not on this machine, left out"
    return 0
  fi
  home="build/matrix/python$python-spark$spark"
  test -x "$home/bin/python" || "python$python" -m venv "$home"
  "$home/bin/python" -m pip install --quiet --disable-pip-version-check -e '.[spark]' "pyspark==$spark.*" \
    'pytest>=8.4,<10' 'hypothesis>=6.130,<7'
  echo "Python $python, Spark $spark:"
  # Told apart by what the registry has: the connector of the tests is of one Spark.
  PENSTOCK_NO_CONNECTOR=1 "$home/bin/python" -m pytest -q -m "not thorough" $TESTS
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
