"""Makes orders and payments, one JSON record a line, `key|value`, for Kafka's console producer.

    python make_data.py orders 5000 | kafka-console-producer.sh --topic orders --property parse.key=true \
        --property key.separator='|' --bootstrap-server localhost:9092

Orders are keyed by their item, payments by their order: the partitions of the two topics have nothing to do with each
other. Every order is paid within the hour but for one in twenty.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

START = datetime(2026, 1, 1, tzinfo=UTC)


def records(topic: str, count: int) -> Iterator[tuple[str, dict[str, object]]]:
    """The records of a topic, in the order of their times."""
    draw = random.Random(7)
    found = []
    for n in range(count):
        ordered = START + timedelta(seconds=n)
        paid = ordered + timedelta(seconds=draw.randint(1, 3500))
        item = f"item {draw.randint(1, 40)}"
        if topic == "orders":
            value = {"id": n, "item": item, "price": draw.randint(100, 9999) / 100, "ts": ordered.isoformat()}
            found.append((ordered, item, value))
        elif draw.random() > 0.05:
            method = draw.choice(["card", "cash", "transfer"])
            found.append((paid, str(n), {"order_id": n, "method": method, "ts": paid.isoformat()}))
    for _, key, value in sorted(found, key=lambda record: record[0]):
        yield key, value


if __name__ == "__main__":
    sys.stdout.writelines(f"{key}|{json.dumps(value)}\n" for key, value in records(sys.argv[1], int(sys.argv[2])))
