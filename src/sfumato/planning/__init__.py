"""What a plan means, from public facts alone: the risk for people, the widths of intervals, and what follows."""
