"""Flink's own interval join of orders and payments, by its SQL: `python flink_job.py DATA OUT`.

Runs in the environment of the peer, so it imports nothing of ours. Two slots, the state on the heap, as its guide has
it for state that fits there; checkpoints every ten seconds, exactly once, as the others have theirs with every batch.
"""

import sys

from pyflink.table import EnvironmentSettings, TableEnvironment

data, out = sys.argv[1:3]
settings = {
    "parallelism.default": "2",
    "execution.runtime-mode": "streaming",
    "execution.checkpointing.interval": "10 s",
    "execution.checkpointing.dir": f"file://{out}.checkpoints",
    "table.local-time-zone": "UTC",
    "taskmanager.memory.process.size": "8 g",
    "jobmanager.memory.process.size": "1600 m",
}
tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
for name, value in settings.items():
    tables.get_config().set(name, value)
COLUMNS = {
    "orders": "id STRING, customer STRING, amount DOUBLE, kind INT",
    "payments": "order_id STRING, `method` STRING, paid DOUBLE, fee INT",
}
for name, columns in COLUMNS.items():
    tables.execute_sql(
        f"CREATE TABLE {name} ({columns}, ts TIMESTAMP_LTZ(3), WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE) "
        f"WITH ('connector' = 'filesystem', 'path' = 'file://{data}/{name}', 'format' = 'json', "
        "'json.timestamp-format.standard' = 'ISO-8601')"
    )
tables.execute_sql(
    "CREATE TABLE answer (id STRING, `method` STRING, fee INT) "
    f"WITH ('connector' = 'filesystem', 'path' = 'file://{out}', 'format' = 'csv')"
)
tables.execute_sql(
    "INSERT INTO answer SELECT o.id, p.`method`, p.fee FROM orders AS o JOIN payments AS p "
    "ON o.id = p.order_id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL '1' HOUR"
).wait()
