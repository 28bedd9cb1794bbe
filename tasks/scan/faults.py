"""What the browser calls its troubles, and what we call them: one table, tested row by row.

Here: texts of the browser and of Playwright, mapped to reasons. Not here: what a reason means (`reasons.py`).
This is the only place that matches on message text.
"""

import re

# Codes of failed navigations.
NET_REASONS = {
    "ERR_NAME_NOT_RESOLVED": "name_not_resolved",
    "ERR_NAME_RESOLUTION_FAILED": "name_resolution_failed",
    "ERR_DNS_TIMED_OUT": "name_resolution_failed",
    "ERR_ICANN_NAME_COLLISION": "name_not_resolved",
    "ERR_CONNECTION_REFUSED": "connection_refused",
    "ERR_CONNECTION_RESET": "connection_lost",
    "ERR_CONNECTION_CLOSED": "connection_lost",
    "ERR_CONNECTION_ABORTED": "connection_lost",
    "ERR_CONNECTION_FAILED": "connection_lost",
    "ERR_SOCKET_NOT_CONNECTED": "connection_lost",
    "ERR_EMPTY_RESPONSE": "connection_lost",
    "ERR_CONTENT_LENGTH_MISMATCH": "incomplete_body",
    "ERR_INCOMPLETE_CHUNKED_ENCODING": "incomplete_body",
    "ERR_INVALID_CHUNKED_ENCODING": "incomplete_body",
    "ERR_HTTP2_PROTOCOL_ERROR": "connection_lost",
    "ERR_HTTP2_SERVER_REFUSED_STREAM": "connection_lost",
    "ERR_HTTP2_PING_FAILED": "connection_lost",
    "ERR_QUIC_PROTOCOL_ERROR": "connection_lost",
    "ERR_NETWORK_CHANGED": "connection_lost",
    "ERR_NETWORK_IO_SUSPENDED": "connection_lost",
    "ERR_INTERNET_DISCONNECTED": "no_network",
    "ERR_ADDRESS_UNREACHABLE": "no_network",
    "ERR_NETWORK_ACCESS_DENIED": "no_network",
    "ERR_CONNECTION_TIMED_OUT": "connection_timeout",
    "ERR_TIMED_OUT": "connection_timeout",
    "ERR_PROXY_CONNECTION_FAILED": "proxy",
    "ERR_TUNNEL_CONNECTION_FAILED": "proxy",
    "ERR_TOO_MANY_REDIRECTS": "redirect_loop",
    "ERR_INVALID_REDIRECT": "bad_redirect",
    "ERR_UNSAFE_REDIRECT": "bad_redirect",
    "ERR_UNKNOWN_URL_SCHEME": "bad_redirect",
    "ERR_DISALLOWED_URL_SCHEME": "bad_redirect",
    "ERR_INVALID_URL": "invalid_address",
    "ERR_ADDRESS_INVALID": "invalid_address",
    "ERR_UNSAFE_PORT": "unsafe_port",
    "ERR_INVALID_RESPONSE": "invalid_response",
    "ERR_INVALID_HTTP_RESPONSE": "invalid_response",
    "ERR_RESPONSE_HEADERS_TOO_BIG": "invalid_response",
    "ERR_RESPONSE_HEADERS_MULTIPLE_LOCATION": "invalid_response",
    "ERR_RESPONSE_HEADERS_MULTIPLE_CONTENT_DISPOSITION": "invalid_response",
    "ERR_RESPONSE_HEADERS_MULTIPLE_CONTENT_LENGTH": "invalid_response",
    "ERR_CONTENT_DECODING_FAILED": "invalid_response",
    "ERR_CONTENT_DECODING_INIT_FAILED": "invalid_response",
    "ERR_HTTP_1_1_REQUIRED": "invalid_response",
    "ERR_HTTP_RESPONSE_CODE_FAILURE": "invalid_response",
    "ERR_BLOCKED_BY_CLIENT": "blocked_by_browser",
    "ERR_BLOCKED_BY_ADMINISTRATOR": "blocked_by_browser",
    "ERR_BLOCKED_BY_RESPONSE": "blocked_by_browser",
    "ERR_BLOCKED_BY_CSP": "blocked_by_browser",
    "ERR_ACCESS_DENIED": "blocked_by_browser",
    "ERR_INVALID_AUTH_CREDENTIALS": "credentials_refused",
    "ERR_UNEXPECTED_PROXY_AUTH": "proxy",
    "ERR_INSUFFICIENT_RESOURCES": "browser_out_of_resources",
    "ERR_OUT_OF_MEMORY": "browser_out_of_resources",
    "ERR_ABORTED": "navigation_aborted",
    "ERR_FAILED": "connection_lost",
}
NET_PREFIXES = {  # whole families
    "ERR_CERT_": "certificate",
    "ERR_SSL_": "certificate",
    "ERR_BAD_SSL_": "certificate",
    "ERR_HTTP2_": "connection_lost",
    "ERR_QUIC_": "connection_lost",
    "ERR_BLOCKED_BY_": "blocked_by_browser",
    "ERR_PROXY_": "proxy",
}
UNKNOWN_NET = "unknown_network_error"

# What Playwright says when a document, a page or a browser is gone under a call.
MOVED = (
    "Execution context was destroyed",
    "Cannot find context with specified id",
    "Cannot find default execution context",
    "Inspected target navigated or closed",
    "Frame was detached",
    "No frame for given id found",
    "No frame with given id found",
    "Frame with the given id was not found",
    "Could not find node with given id",
    "Node with given id does not belong to the document",
    "Cannot find object with id",
    "Frame with the given frameId is not found",
    "is interrupted by another navigation",
    "Promise was collected",
    "Could not create isolated world",
)
CRASHED = ("Page crashed", "Target crashed", "Inspected target crashed", "Navigation failed because page crashed")
GONE = (
    "Target page, context or browser has been closed",
    "Target closed",
    "Session closed",
    "Connection closed",
    "Browser has been closed",
    "Browser closed",
    "browser has disconnected",
    "Internal server error, session closed",
    "Failed to open a new tab",
    "Target.createTarget",
)
DOWNLOADS = ("Download is starting",)
OBSTACLES = {  # ends of lines in the driver's log of a step that it could not take, and what we say; None: the line
    "intercepts pointer events": None, "element is not visible": None, "element is not stable": None,
    "element is not enabled": None, "element is not editable": None, "element is inert": None,
    "element is outside of the viewport": None,
    "waiting for scheduled navigations to finish": "the page that it leads to does not come",
    "performing click action": "the page does not answer",
}
IS_FOUND, NO_REST, NO_ELEMENT = (
    "locator resolved to", "the element does not come to rest", "nothing that can be seen matches it")

_CODE = re.compile(r"\b(?:net::)?(ERR_[A-Z0-9_]+)")


def net_code(text: str) -> str | None:
    """Return the browser's code in a message, if it has one."""
    found = _CODE.search(text)
    return found[1] if found else None


def reason_of_code(code: str) -> str:
    """Return our word for a code of a failed navigation."""
    if code in NET_REASONS:
        return NET_REASONS[code]
    return next((reason for prefix, reason in NET_PREFIXES.items() if code.startswith(prefix)), UNKNOWN_NET)


def has_moved(text: str) -> bool:
    """Whether a call failed because its document or frame is no longer there."""
    return any(known in text for known in MOVED)


def has_crashed(text: str) -> bool:
    """Whether a call failed because the page's process died."""
    return any(known in text for known in CRASHED)


def is_gone(text: str) -> bool:
    """Whether a call failed because page, browser or driver is no longer there."""
    return any(known in text for known in GONE)


def obstacle_in(text: str) -> str:
    """Return what stood in the way of a step until the end, from the driver's message."""
    lines = [re.sub(r"^[\s-]*(?:\d+ × )?", "", line) for line in text.splitlines()]
    found = ((OBSTACLES[end] or line) for line in reversed(lines) for end in OBSTACLES if line.endswith(end))
    return next(found, NO_REST if IS_FOUND in text else NO_ELEMENT)


def is_download(text: str) -> bool:
    """Whether a navigation ended in a download."""
    return any(known in text for known in DOWNLOADS)
