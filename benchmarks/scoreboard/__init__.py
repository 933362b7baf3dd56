"""The scoreboard: data sets by methods by epsilon, ours and others', on one page. A command: see __main__."""
