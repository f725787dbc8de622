"""`penstock profile`: which promises does the data keep, and what would they save?

    asking -> (spark/profiling) -> facts -> proposals -> replay -> report

`asking` reads off the queries which constraints could help them; Spark measures what each row needs of these; `facts`
turns the needs into declarations; `proposals` puts together those that work only together; `replay` runs the core over
the first rows with each of them; `findings` is the result, `text` and `as_json` show it.
"""
