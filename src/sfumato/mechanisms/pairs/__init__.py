"""Pair tables: what columns do together that no Gaussian says, bought where it pays."""
