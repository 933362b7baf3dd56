"""What may be asked of rows in sum: a closed list of frozen classes, each of which states its reach."""
