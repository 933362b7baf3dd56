"""How many examples Hypothesis tries."""

from hypothesis import settings


def some(examples: int) -> int:
    """Half of them, and all in the thorough profile, in which `make test-all` runs what is marked `thorough` again."""
    return examples * settings.default.max_examples // 100
