"""A curator elsewhere: a server on the machine that holds the rows, and the way to it from where the analyst is."""
