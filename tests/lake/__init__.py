"""Tables of Delta and Iceberg, for tests: in an environment of their own, with a Spark that both have packages for."""
