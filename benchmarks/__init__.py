"""Speed, memory and utility, measured; each module is a command."""
