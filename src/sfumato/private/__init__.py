"""The private side: the only code that sees rows. What it is, and why it is safe, is in docs/proofs/.

The way in is `curator.Curator`, which takes questions as bytes and answers with noise; nothing is re-exported, so that
whoever imports a part of it gets that part and no other.
"""
