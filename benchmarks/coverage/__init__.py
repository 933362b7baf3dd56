"""How often intervals hold what they are about, and how wide they are."""
