"""A verdict and a plan, shown: as text, as JSON, as a page; always in the same order.

Everything here reads findings and plans and decides nothing. The same verdict gives the same text on every run and
every machine; only colours, the width of a terminal and the marks of a terminal that is not UTF-8 differ.
"""
