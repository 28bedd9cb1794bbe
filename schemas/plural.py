"""A count with its noun, as people say it.

Here: one word or two. Not here: sentences.
"""


def plural(count: int, noun: str, many: str = "") -> str:
    """Say a count with its noun: `1 finding`, `2 findings`; `many` where it takes more than an `s`."""
    return f"{count} {noun if count == 1 else many or f'{noun}s'}"
