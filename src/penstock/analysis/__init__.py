"""What is known of a query before it runs: one question a module, each answered by a finding.

Imports model and nothing else of ours. An analysis never changes what it reads and never prints.
"""
