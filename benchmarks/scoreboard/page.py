"""The page: what peers do better first, with the cause, then a table a data set, and two plots."""


def write(cells): ...
