"""Engines: who adds up a query over the rows."""
