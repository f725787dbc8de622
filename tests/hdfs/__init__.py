"""HDFS in a process of this machine."""
