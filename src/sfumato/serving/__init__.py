"""A curator elsewhere: a server on the machine that holds the rows, and the way to it from where the analyst is.

`frames` and `addresses` are what both sides share. The server is `listening` (sockets) before a `desk` (who answers,
and in which order things are written down) with its `journal` (what was charged and answered, on disk). `remote` is the
analyst's side: it holds an address and nothing else.
"""
