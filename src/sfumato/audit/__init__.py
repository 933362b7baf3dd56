"""Trying to break the guarantee in public: attacks on neighbouring tables, and what their success proves.

Audits stand on the private side: they know both tables. docs/audit.md says what the numbers mean.
"""
