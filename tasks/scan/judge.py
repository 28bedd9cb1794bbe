"""Judge what a visit saw: the right page, another page, or none.

Here: the order of judgements, pure. Not here: seeing (`visit.py`), words and sentences (`reasons.py`), identity (the
`find_route` that is given). Status before type, type before address, address before content. The type is the
document's own where there is one: a browser reads headers that no table of types has.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from schemas.address import identity_of, origin_of
from schemas.errors import ContractError
from schemas.host import AllowedHosts, Origin
from schemas.plan import PlannedRoute
from schemas.route import Journey
from schemas.settings import IdentitySwitches, ScanSettings
from tasks.scan.media_type import HTML_TYPES, media_type, names_a_type
from tasks.scan.reasons import reason_of_status

NO_CONTENT = (204, 205)
SIGN_IN_PATH = re.compile(
    r"/(?:log[-_]?(?:in|on)|sign[-_]?(?:in|on)|sso|oauth2?|openid(?:-connect)?|authorize|saml2?|idp|adfs|auth|cas"
    r"|sessions?/new|wp-login|authenticate|authentication|account/log[-_]?in)(?:[/._-]|$)", re.IGNORECASE)
SIGN_IN_HOSTS = ("login.*", "signin.*", "sso.*", "idp.*", "accounts.google.com", "*.okta.com", "*.oktapreview.com",
                 "*.auth0.com", "*.onelogin.com", "*.b2clogin.com")
ACCOUNT_PATH = re.compile(r"/(?:register|registration|sign[-_]?up|join|password|reset|account)\b", re.IGNORECASE)
WHOLE_ADDRESS = IdentitySwitches(query="keep")  # what a manifest expects, it says in full
FEW_CHARACTERS = 600  # a page with less text than this and a password field is a sign-in page
NOTHING_SEEN = "no text, picture, frame or field can be seen"

FindRoute = Callable[[str, str | None], str | None]


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of the page so far. `has_selector` answers for `expect.selector`, None when it was not asked.

    `loaded_url`: what the document was loaded from, None while that is not known; scripts give documents others, and
    `url` is the last of them. `acted_at`: where the steps of the manifest were taken, None before that.
    """

    url: str
    status: int | None
    content_type: str | None
    is_download: bool = False
    title: str | None = None
    has_password_field: bool = False
    text_length: int | None = None
    has_selector: bool | None = None
    has_content: bool | None = None
    is_malformed: bool = False
    acted_at: str | None = None
    loaded_url: str | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """A reason of `REASONS`, what it rests on, and the route that the address led to."""

    reason: str
    detail: str | None = None
    redirected_to: str | None = None


class Judge:
    """Judges pages under the settings of a plan.

    Args:
        find_route: returns the `task_id` of the planned route that an address belongs to under a profile, if any.
        resolve: puts secrets into an address of the plan.
    """

    def __init__(self, scan: ScanSettings, find_route: FindRoute, resolve: Callable[[str], str] = str) -> None:
        self._scan = scan
        self._allowed = AllowedHosts(scan.hosts)
        self._find_route = find_route
        self._resolve = resolve

    def on_arrival(self, route: PlannedRoute, seen: Seen) -> Judgement | None:
        """Judge a page by its answer and address; None when it is worth scanning.

        The expected address may be what the steps of the manifest lead to, so before them it is not insisted on. After
        them the page must be where they were taken, or at the expected address: another was not asked for.
        """
        found = next(filter(None, self._arrival(route, seen)), None)
        if route.actions is None:
            return found
        if seen.acted_at is None:
            if found is not None and found.reason == "expect_url":
                return self.on_arrival(replace(route, expect_url=None), seen)
            return found
        is_worth_scanning = found is None or found.reason == "other_route"
        if is_worth_scanning and route.expect_url is None and _place(seen.acted_at) != _place(seen.url):
            return Judgement("action_led_away", f"led to {seen.url}")
        return found

    def when_settled(self, route: PlannedRoute, seen: Seen) -> Judgement | None:
        """Judge a page that has settled by address and content; None when it is the right one."""
        arrival = self.on_arrival(route, seen)
        if arrival is None and seen.is_malformed:
            return Judgement("browser_error_page", "the document is not well-formed XML")
        found = arrival or self._judge_content(route, seen)
        is_blank = seen.has_content is False and not _is_vouched_for(route, seen)
        return found or (Judgement("nothing_there", NOTHING_SEEN) if is_blank else None)

    def _arrival(self, route: PlannedRoute, seen: Seen) -> Iterator[Judgement | None]:
        if seen.url.startswith("chrome-error:"):
            yield Judgement("browser_error_page", f"status {seen.status}" if seen.status else None)
        yield _judge_status(route, seen)
        yield _judge_type(route, seen)
        expected = route.expect_url
        if expected is not None:
            if not _is_same_address(self._resolve(expected), seen.url):
                yield self._judge_sign_in(route, seen) or Judgement("expect_url", f"expected {expected}")
            return
        yield self._judge_sign_in(route, seen)
        yield self._judge_host(route, seen)
        yield self._judge_redirect(route, seen)

    def _judge_sign_in(self, route: PlannedRoute, seen: Seen) -> Judgement | None:
        final, asked = urlsplit(seen.url), urlsplit(route.url)
        if self._is_own(route, seen) or SIGN_IN_PATH.search(asked.path) or _is_sign_in_host(asked.hostname):
            return None
        if SIGN_IN_PATH.search(final.path) or _is_sign_in_host(final.hostname):
            return Judgement("sign_in", f"led to {final.hostname}{final.path}")
        return None

    def _judge_host(self, route: PlannedRoute, seen: Seen) -> Judgement | None:
        final = _origin_of(seen.url)
        if final is None:
            return Judgement("host_not_allowed", f"led to {seen.url[:100]}")
        if final.site == origin_of(route.url).site or self._allowed.allow(final):
            return None
        return Judgement("host_not_allowed", f"led to {final.host}")

    def _judge_redirect(self, route: PlannedRoute, seen: Seen) -> Judgement | None:
        found = self._find_route(seen.url, route.auth)
        if found == route.task_id:
            return None
        loaded = self._find_route(seen.loaded_url, route.auth) if seen.loaded_url else None
        if loaded not in (None, route.task_id):
            return Judgement("other_route", None, loaded)
        if found is not None:  # a document that only took the address is not the one that is scanned there
            return None
        asked = self._resolve(route.url)
        if self._scan.redirects == "strict" and not _differs_in_scheme_or_www_only(asked, seen.url):
            return Judgement("redirect_not_allowed")
        return None

    def _is_own(self, route: PlannedRoute, seen: Seen) -> bool:
        return self._find_route(seen.url, route.auth) == route.task_id

    def _judge_content(self, route: PlannedRoute, seen: Seen) -> Judgement | None:
        if route.expect_selector is not None and not seen.has_selector:
            return self._judge_password(route, seen) or Judgement("expect_selector", route.expect_selector)
        if route.expect_title is not None and route.expect_title.casefold() not in (seen.title or "").casefold():
            return self._judge_password(route, seen) or Judgement("expect_title", f"title is {seen.title!r}")
        return self._judge_password(route, seen)

    def _judge_password(self, route: PlannedRoute, seen: Seen) -> Judgement | None:
        """A password field is a sign-in page where the page was not what was asked for, or is little else.

        Many a public page carries a small sign-in form; that alone is no fault.
        """
        if not seen.has_password_field or _is_vouched_for(route, seen):
            return None
        asked = urlsplit(route.url)
        if SIGN_IN_PATH.search(asked.path) or _is_sign_in_host(asked.hostname) or ACCOUNT_PATH.search(asked.path):
            return None
        is_little_else = seen.text_length is not None and seen.text_length <= FEW_CHARACTERS
        if is_little_else or route.auth is not None or not self._is_own(route, seen):
            return Judgement("sign_in", "the page asks for a password")
        return None


def _is_vouched_for(route: PlannedRoute, seen: Seen) -> bool:
    return bool(route.ready or route.ready_when or (route.expect_selector and seen.has_selector))


def _judge_status(route: PlannedRoute, seen: Seen) -> Judgement | None:
    status = seen.status
    if route.expect_status is not None:
        if status == route.expect_status:
            return None
        if status is not None and status < 400:
            return Judgement("expect_status", f"status {status}, expected {route.expect_status}")
    if status is None or 200 <= status <= 299:
        return None
    return Judgement(reason_of_status(status), f"status {status}")


def _judge_type(route: PlannedRoute, seen: Seen) -> Judgement | None:
    if seen.status in NO_CONTENT:
        reason, detail = "no_content", f"status {seen.status}"
    elif seen.is_download:
        reason, detail = "download", media_type(seen.content_type) or "no media type"
    elif media_type(seen.content_type) not in HTML_TYPES and names_a_type(seen.content_type):
        reason, detail = "document", media_type(seen.content_type) or "no media type"
    else:
        return None
    is_named_page = route.journey_is_explicit and route.journey == Journey.PRIMARY
    if route.is_described or is_named_page or route.was_html:
        return Judgement("file_instead_of_page", detail)
    return Judgement(reason, detail)


def _place(url: str) -> tuple[str, str, str]:
    """Return what tells pages apart that steps lead to: a query or an anchor is the same page in another state."""
    parts = urlsplit(url)
    fragment = parts.fragment if parts.fragment.startswith(("/", "!")) else ""
    return _site(url), parts.path.rstrip("/"), fragment


def _site(url: str) -> str:
    origin = _origin_of(url)
    return origin.site if origin else ""


def _origin_of(url: str) -> Origin | None:
    """Return the origin of wherever a browser is; `about:blank` has none."""
    try:
        return origin_of(url)
    except ContractError:
        return None


def _is_sign_in_host(host: str | None) -> bool:
    return any(fnmatchcase((host or "").lower(), pattern) for pattern in SIGN_IN_HOSTS)


def _is_same_address(expected: str, found: str) -> bool:
    """Whether a browser is where the manifest expects it; one that expects no fragment takes any."""
    address = _whole(expected)
    return address is not None and address in (_whole(found), _whole(found.partition("#")[0]))


def _differs_in_scheme_or_www_only(asked: str, final: str) -> bool:
    one, other = (urlsplit(_whole(url.partition("#")[0]) or url) for url in (asked, final))
    return (_site(asked), one.path, one.query) == (_site(final), other.path, other.query)


def _whole(url: str) -> str | None:
    """Return an address in its one spelling, with all of its query; None for a place that no manifest can name."""
    try:
        return identity_of(url, WHOLE_ADDRESS)
    except ContractError:
        return None
