"""What promises in doubt let go: rows set aside, found again by the rows to come that would have met them.

A promise in doubt is one that is declared ON VIOLATION RECOVER, or whose k is monitored. `cold_segments.py` keeps rows
aside, on disk or in memory; `recall.py` finds those that may stand with the rows of a batch; the cell calls
`doubted_rows.py`.
"""
