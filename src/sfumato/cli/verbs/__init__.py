"""One file a verb, named as it is typed."""
