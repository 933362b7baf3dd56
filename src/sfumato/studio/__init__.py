"""`sfumato studio`: a page on this machine that leads from a private table to a release.

The studio decides nothing about privacy. Each step runs the command that it shows, or calls what that command calls.

`server` answers requests that `guard` lets through; `folder` says which files may be opened; `work` is what was chosen
and made so far, and `jobs` the command that runs; `screens` has one module for each step, `pages` its template.
"""
