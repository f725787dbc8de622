"""REWRITE: joins replaced by counts. `decide.rewrite_finding` answers; each rule of the paper is a module."""
