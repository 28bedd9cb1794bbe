"""Page text made harmless for each format: pages are hostile, and what reads our files is easily led.

Here: one function per format. Not here: HTML, where the template engine escapes everything.
"""

import re

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%", "＝", "＋", "－", "＠")
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0 §2.2
MARKDOWN_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-!|~<>&@$:])")
MARKDOWN_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;", ":": "&#58;", "$": "&#36;"}
REPLACEMENT = "\ufffd"
_WEB = re.compile(r"https?://[^\s\x00-\x20\x7f-\x9f\"'<>\\]+", re.IGNORECASE)


def web_link(address: str | None) -> str | None:
    """Return an address that may be a link: http and https only, nothing that a page could run."""
    return address if address is not None and _WEB.fullmatch(address) else None


def cut_text(text: str, characters: int) -> str:
    """Cut a text to so many characters, with an ellipsis where something is lost."""
    return text if len(text) <= characters else text[: characters - 1] + "…"


def csv_cell(value: object) -> str:
    """Return a cell that no spreadsheet takes for a formula: an apostrophe goes before what could be one.

    Source: OWASP, "CSV Injection". A cell that starts with white space is judged by what follows.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    text = xml_text(str(value))
    if text[:1].isalnum():
        return text
    return "'" + text if text.startswith(FORMULA_STARTS) or text.lstrip().startswith(FORMULA_STARTS) else text


def xml_text(text: str) -> str:
    """Return text that is legal in XML 1.0: control characters and half surrogates become U+FFFD."""
    return NOT_XML.sub(REPLACEMENT, text)


def plain_text(text: str) -> str:
    """Return text that can be written as UTF-8: half of a surrogate pair becomes U+FFFD."""
    return re.sub("[\ud800-\udfff]", REPLACEMENT, text)


def markdown_text(text: str, characters: int = 300) -> str:
    """Return text that Markdown shows as it is: no link, image, mention or markup; one line, short."""
    short = cut_text(" ".join(xml_text(text).split()), characters)
    return MARKDOWN_SPECIAL.sub(lambda match: MARKDOWN_ENTITIES.get(match[1], "\\" + match[1]), short)
