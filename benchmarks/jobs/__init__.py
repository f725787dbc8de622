"""The PySpark jobs of examples/jobs both ways."""
