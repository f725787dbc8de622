"""A real broker of Apache Kafka, in one process, for tests and the demo."""
