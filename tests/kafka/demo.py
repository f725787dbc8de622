"""`make kafka-demo`: a broker, two topics, and `examples/kafka/` run on them, shown as it goes.

python -m tests.kafka.demo [FOLDER [ORDERS]]
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.kafka.broker import Broker, jars
from tests.maven import lacking

EXAMPLE = Path(__file__).parents[2] / "examples" / "kafka"
_TOPICS = {"orders": 4, "payments": 3, "paid": 1}


def tool(name: str, *arguments: str, given: str | None = None) -> str:
    """A command line tool of Kafka's."""
    path = ":".join(map(str, jars("broker")))
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", path, f"org.apache.kafka.tools.{name}", *arguments]
    return subprocess.run(command, input=given, check=True, text=True, capture_output=True).stdout


def main(folder: Path, orders: int) -> None:
    """Start, fill, run, show, stop."""
    missing = lacking()
    if missing is not None:
        sys.exit(missing)
    shutil.rmtree(folder, ignore_errors=True)
    broker = Broker(folder / "kafka")
    print("fetching a broker and Spark's connector from the Maven registry, once; starting the broker …", flush=True)
    broker.start()
    try:
        for topic, partitions in _TOPICS.items():
            at = ("--bootstrap-server", broker.address, "--topic", topic)
            tool("TopicCommand", "--create", *at, "--partitions", str(partitions))
            if topic == "paid":
                continue
            made = subprocess.run(
                [sys.executable, str(EXAMPLE / "make_data.py"), topic, str(orders)],
                check=True,
                text=True,
                capture_output=True,
            ).stdout
            keyed = ("--property", "parse.key=true", "--property", "key.separator=|")
            tool("ConsoleProducer", *at, *keyed, given=made)
            print(f"{topic}: {made.count(chr(10)):,} records in {partitions} partitions", flush=True)
        script = folder / "orders_and_payments.sql"
        text = (EXAMPLE / "orders_and_payments.sql").read_text(encoding="utf-8")
        script.write_text(text.replace("localhost:9092", broker.address).replace("'20000'", f"'{max(1, orders // 4)}'"))
        packages = f"spark.jars={','.join(map(str, jars('connector')))}"
        command = ["run", str(script), "--available-now", "--checkpoint", str(folder / "checkpoint")]
        shown = " ".join(["$ penstock", *command, "--conf spark.jars=…"])
        print(f"\n{shown}\n", flush=True)
        run = [
            sys.executable,
            "-m",
            "penstock",
            *command,
            "--metrics",
            str(folder / "metrics.jsonl"),
            "--conf",
            packages,
        ]
        subprocess.run(run, check=True)
        ends = ("--from-beginning", "--timeout-ms", "8000")
        paid = tool("consumer.ConsoleConsumer", "--bootstrap-server", broker.address, "--topic", "paid", *ends)
        first, *others = paid.splitlines()
        print(f"\npaid: {1 + len(others):,} records; the first:\n{first}")
    finally:
        broker.stop()


if __name__ == "__main__":
    main(
        Path(sys.argv[1] if len(sys.argv) > 1 else "build/kafka-demo"), int(sys.argv[2]) if len(sys.argv) > 2 else 5000
    )
