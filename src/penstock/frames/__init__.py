"""A PySpark job as a script: what was read of Spark's plan, as values, and the script that says the same.

    DataFrame --spark/frames--> JobRelation --script_of--> a script --sql--> model

The script is the one form of a job: it is bound, checked and run as any other, and `print` shows it. Nothing here knows
Spark; what reads its plans and puts them together again is in `spark/frames`.
"""
