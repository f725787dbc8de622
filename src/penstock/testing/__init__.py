"""A query run in the test's own process: Arrow tables in, Arrow tables out. No Spark, no JVM, milliseconds a run.

    run = penstock.testing.Run(script)                 # text or a Script; query=… where it has several, cells=…
    step = run.step({"orders": orders, "payments": payments})   # streams left out brought nothing
    step.rows                                          # an Arrow table: what the batch emits
    step.metrics                                       # a dict, as a line of `run --metrics`
    run.restart()                                      # go on from what was saved, as after a crash
    run.end()                                          # every stream is at its end: all that waits is decided

It is the core that Spark runs, over the same cells, routes, second stage and metrics. What only Spark evaluates
(functions, arithmetic, CASE) is refused when the run is made, with what to write instead.
"""

from penstock.testing.run import Run, Step

__all__ = ["Run", "Step"]
