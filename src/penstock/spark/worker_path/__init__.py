"""What is on the path of the Python processes that Spark starts for `penstock run` on one machine."""
