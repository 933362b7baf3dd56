"""Drafts of schemas, made by looking at a private table, and the questions that make them public.

Public: `draft`, which reads the rows, and `Draft`, what it found; both stand on the private side. `confirming` reads
no rows: it walks through what a draft leaves to be confirmed.
"""

from __future__ import annotations

from sfumato.drafting.draft import Draft, draft

__all__ = ["Draft", "draft"]
