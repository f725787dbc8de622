"""DataFrames of a job, read and put together again, through the interface that Spark has for its plans.

DataFrame -> analyzed plan -> what it says (penstock.frames) …  and the answer in the place of what was read
"""
