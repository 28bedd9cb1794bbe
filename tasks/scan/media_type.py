"""Media types as servers say them: which are pages, and which say nothing.

Here: reading one text. Not here: what a document became, which goes before it (`settle.js`), judging (`judge.py`).
"""

HTML_TYPES = ("text/html", "application/xhtml+xml")
NO_TYPES = ("unknown/unknown", "application/unknown", "*/*")  # a browser looks into the content then, and so do we


def media_type(content_type: str | None) -> str:
    """Return a media type without its parameters, in lower case."""
    return (content_type or "").partition(";")[0].strip().lower()


def names_a_type(content_type: str | None) -> bool:
    """Whether a media type says anything; where it does not, what the browser makes of the content decides."""
    named = media_type(content_type)
    return "/" in named and named not in NO_TYPES
