"""Hostile input for everything that sfumato reads: schemas, tables, release files, conditions, command lines.

A target is a module with a `TARGET`. Its `run(data)` takes any bytes and may raise sfumato's own errors, in one
line, and nothing else; it may not hang, nor take more memory than `harness.Limits` allow. Two drivers feed the same
targets: atheris, which is led by coverage, and Hypothesis, which knows the structure of the input.

    python -m fuzz --cases 100000 -o audits/fuzz.json
"""
