#!/bin/sh
# Packets on three links, joined on Spark in local mode: demo.sh PENSTOCK [FOLDER [SECONDS OF EVENT TIME]].
# All files lie in the folder, by default build/demo, which git ignores.
set -e
penstock="$1"
python="$(dirname "$1")/python"
folder="${2:-build/demo}"
rm -rf "$folder"
mkdir -p "$folder"

echo
"$python" -m benchmarks.packets.demo write "$folder" "${3:-120}"

printf '\n$ penstock check %s/packets.sql\n\n' "$folder"
"$penstock" check "$folder/packets.sql"

printf '\n$ penstock run %s/packets.sql --checkpoint %s/checkpoint --available-now --metrics %s/metrics.jsonl\n\n' \
  "$folder" "$folder" "$folder"
"$penstock" run "$folder/packets.sql" --checkpoint "$folder/checkpoint" --available-now --metrics "$folder/metrics.jsonl"

echo
"$python" -m benchmarks.packets.demo table "$folder"
cat <<END

Next: docs/quickstart.md takes a query from unbounded to bounded; docs/performance.md holds Penstock beside Spark's own
joins (penstock bench packets); the script of this demo is $folder/packets.sql, its answer $folder/matched.
END
