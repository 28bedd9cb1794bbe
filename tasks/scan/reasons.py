"""Why a visit ended as it did: every reason in one table, each with its outcome and a way out for an engineer.

Here: words and sentences. Not here: which reason holds (`judge.py`, `faults.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from schemas.outcome import RULE_FAILED, OutcomeKind


@dataclass(frozen=True, slots=True)
class Reason:
    """What a reason means.

    Attributes:
        is_transient: the visit is tried again in a new context; what is deterministic never is.
    """

    outcome: OutcomeKind
    how_to_fix: str | None
    is_transient: bool = False


_O = OutcomeKind
_EXPECT = "Correct the page, or correct `expect` for this route in the manifest."

REASONS: Mapping[str, Reason] = {
    # settled
    "tested": Reason(_O.SCANNED, None),
    "frame_untested": Reason(
        _O.PARTIALLY_SCANNED,
        "Open the listed frames by hand. A frame that does not load, answers slowly or refuses to be framed has to "
        "be mended, or removed from the page; a frame of a third party only warns."),
    "form_hidden": Reason(
        _O.PARTIALLY_SCANNED,
        "A field has the name of something that every element has, so no script can look into its form and nothing in "
        "there was tested. Rename the field, or test the form by hand."),
    "behind_modal": Reason(
        _O.PARTIALLY_SCANNED,
        "An open modal dialog makes the rest of the page inert, so nothing but the dialog was tested. `dismiss` it in "
        "`actions` of this route's entry; an entry of its own without that tests the dialog."),
    "results_cut": Reason(
        _O.PARTIALLY_SCANNED,
        "The page has more faulty nodes than are kept. Mend the rule that is counted most, then scan again."),
    RULE_FAILED: Reason(
        _O.PARTIALLY_SCANNED,
        "A rule of the engine raised an error on this page, so what it looks for was not tested. Report it with the "
        "detail and test that rule by hand; until it is mended, accept the route in the policy or switch it off."),
    "document": Reason(
        _O.NOT_APPLICABLE,
        "Nothing to do if this is a file and no page; exclude it by a pattern to shorten the plan."),
    "download": Reason(
        _O.NOT_APPLICABLE,
        "Nothing to do if this is a file and no page; exclude it by a pattern to shorten the plan."),
    "no_content": Reason(
        _O.NOT_APPLICABLE,
        "The server answers without content. Exclude the address if it is no page."),
    "other_route": Reason(
        _O.REDIRECTED,
        "Nothing to do: the other route is scanned. Remove the old address from the manifest to shorten the plan."),
    # wrong page
    "sign_in": Reason(
        _O.WRONG_PAGE,
        "The address led to a sign-in page. Give the route an `auth` profile; if it has one, renew its storage "
        "state or headers; if the page is meant to hold a password field, name its `ready` or `expect.selector`."),
    "expect_status": Reason(_O.WRONG_PAGE, f"The status is not the one that is expected. {_EXPECT}"),
    "expect_url": Reason(_O.WRONG_PAGE, f"The final address is not the one that is expected. {_EXPECT}"),
    "expect_title": Reason(_O.WRONG_PAGE, f"The title is not the one that is expected. {_EXPECT}"),
    "expect_selector": Reason(_O.WRONG_PAGE, f"The expected element is not on the page. {_EXPECT}"),
    "host_not_allowed": Reason(
        _O.WRONG_PAGE,
        "The address led to another host. Add it to `hosts` if it belongs to the estate, or list the page under its "
        "own address."),
    "redirect_not_allowed": Reason(
        _O.WRONG_PAGE,
        "The address led to a page outside the plan, and `redirects` is `strict`. List the final address in the "
        "manifest, or set `redirects: allow`."),
    "browser_error_page": Reason(
        _O.WRONG_PAGE,
        "The browser showed an error page of its own. Open the address in a browser and read what it says."),
    "file_instead_of_page": Reason(
        _O.WRONG_PAGE,
        "The server sent a file where a page is expected (the route has `ready` or `expect`, is named primary, or "
        "was a page before). Mend the server, or mark the route as secondary."),
    "action_led_away": Reason(
        _O.WRONG_PAGE,
        "A step of `actions` led to another page, so the route's own page was not tested. Correct the step; if that "
        "page is the one to be tested, name its address as `expect.url`."),
    # the server says no
    "status_4xx": Reason(
        _O.HTTP_ERROR,
        "The server refuses the address or does not know it. Mend the link or remove the route; for 401 and 403 "
        "give it an `auth` profile or let the scanner in; an error page under audit needs `expect.status`."),
    "status_429": Reason(
        _O.HTTP_ERROR,
        "The server limits requests. Lower `per_host` or `shards_at_once`, or let the scanner "
        "in.", is_transient=True),
    "status_5xx": Reason(
        _O.HTTP_ERROR,
        "The server failed, also when asked again. Look at its log at this time.", is_transient=True),
    "status_other": Reason(
        _O.HTTP_ERROR,
        "The server answers with a status that shows no page. Mend the server or remove the route."),
    # nobody there
    "name_not_resolved": Reason(_O.UNREACHABLE, "The host has no address. Check the spelling, or the resolver."),
    "name_resolution_failed": Reason(
        _O.UNREACHABLE,
        "The resolver did not answer. Check the machine's network.", is_transient=True),
    "connection_refused": Reason(
        _O.UNREACHABLE,
        "Nothing listens at that port. Check that the site is up and reachable from this "
        "machine.", is_transient=True),
    "connection_lost": Reason(
        _O.UNREACHABLE,
        "The connection broke. Check the server and what is between; lower `per_host` if it "
        "is under load.", is_transient=True),
    "connection_timeout": Reason(
        _O.UNREACHABLE,
        "The host did not answer. Check firewalls, and that the site is reachable from this "
        "machine.", is_transient=True),
    "incomplete_body": Reason(
        _O.UNREACHABLE,
        "The page broke off midway. Check the server and what is between: half a page is not "
        "scanned.", is_transient=True),
    "no_network": Reason(_O.UNREACHABLE, "This machine has no way to the host. Check its network.", is_transient=True),
    "proxy": Reason(
        _O.UNREACHABLE,
        "The proxy refused or did not answer. Check the proxy's settings.", is_transient=True),
    "certificate": Reason(
        _O.UNREACHABLE,
        "The certificate or the TLS set-up is not trusted, or the server asks for a certificate of ours. Renew it, or "
        "install its issuer on this machine; for an estate that signs its own set `scan: {verify_tls: false}`."),
    "redirect_loop": Reason(
        _O.UNREACHABLE,
        "Redirects go round in a circle. Follow them with `curl -IL`, mend the rule."),
    "bad_redirect": Reason(_O.UNREACHABLE, "A redirect leads to an address that no browser follows. Mend its target."),
    "invalid_address": Reason(_O.UNREACHABLE, "No browser can visit the address. Correct it in the manifest."),
    "unsafe_port": Reason(_O.UNREACHABLE, "Browsers refuse this port. Serve the page at another."),
    "invalid_response": Reason(
        _O.UNREACHABLE,
        "The server's answer breaks the protocol. Look at it with `curl -v` and mend the server."),
    "blocked_by_browser": Reason(
        _O.UNREACHABLE,
        "The browser refused the answer. Check the policy headers and the machine's browser policies."),
    "credentials_refused": Reason(_O.UNREACHABLE, "The server refused the profile's credentials. Renew them."),
    "navigation_aborted": Reason(
        _O.UNREACHABLE,
        "The page stopped its own loading. Open it by hand; a page that does it always needs "
        "mending.", is_transient=True),
    "browser_out_of_resources": Reason(
        _O.CRASHED,
        "The browser ran out of resources. Lower `in_flight`.", is_transient=True),
    "unknown_network_error": Reason(
        _O.UNREACHABLE,
        "The browser names an error that this program does not know; look its code up.", is_transient=True),
    "host_gave_up": Reason(
        _O.UNREACHABLE,
        "Many visits to this host failed one after the other, so this one was not made. Mend the host, then retry "
        "the run."),
    # never ready
    "ready_missing": Reason(
        _O.NOT_READY,
        "The `ready` selector did not appear in time. Correct it, or find out what the page waits for."),
    "ready_invalid": Reason(
        _O.NOT_READY,
        "`ready` or `expect.selector` is no valid CSS selector. Correct the manifest."),
    "ready_when_false": Reason(
        _O.NOT_READY,
        "The `ready_when` expression did not come true in time; the detail says what its last answer was. Try it in "
        "the browser's console, and correct it or the page."),
    "ready_when_invalid": Reason(
        _O.NOT_READY,
        "`ready_when` is no JavaScript expression. Correct the manifest: an expression has a value, without `;` or "
        "`return`."),
    "nothing_there": Reason(
        _O.NOT_READY,
        "The page stayed blank, and a blank page has no faults to find. Open it by hand and look for a script that "
        "fails or draws too late; name what it shows as `ready`. Where a blank page is right, `expect: {selector: "
        "body}` says so."),
    "action_failed": Reason(
        _O.NOT_READY,
        "A step of `actions` could not be taken; the detail names it. Look at the page as it is before that step, and "
        "correct the step, or put a `wait` before it. `python -m tasks.scan --url … --manifest … --explain` shows each "
        "step."),
    # out of time
    "load_timeout": Reason(
        _O.TIMED_OUT,
        "The page did not finish loading in time. Open it by hand and look for requests that "
        "hang; its deadline grows with its history.", is_transient=True),
    "resource_timeout": Reason(
        _O.TIMED_OUT,
        "The page waits for files that do not come; they are named. Mend or remove them.", is_transient=True),
    "page_blocked": Reason(
        _O.TIMED_OUT,
        "A script of the page never ends and keeps its thread. Profile the page in a browser.", is_transient=True),
    "engine_timeout": Reason(
        _O.TIMED_OUT,
        "The engine did not finish in time: the page is very large, or a script of it keeps "
        "the thread.", is_transient=True),
    # moving
    "navigates": Reason(
        _O.UNSTABLE,
        "The page navigates or reloads while it is scanned. Name a `ready` selector that holds once it rests, or "
        "list the address that it goes to."),
    # dead
    "renderer_crashed": Reason(
        _O.CRASHED,
        "The page's process died, most often for want of memory. Open the page by hand and "
        "look at its memory.", is_transient=True),
    "browser_died": Reason(
        _O.CRASHED,
        "The browser died while this page was open. Scan it alone; if it dies again the page "
        "is at fault.", is_transient=True),
    "page_error": Reason(
        _O.CRASHED,
        "An error that this program does not know; report it with the route's address.", is_transient=True),
    # the engine
    "engine_not_loaded": Reason(_O.ENGINE_ERROR, "The engine could not start on this page. Report it with the detail."),
    "engine_version": Reason(
        _O.ENGINE_ERROR,
        "Another engine than the pinned one answered. Report it with the route's address."),
    "engine_failed": Reason(_O.ENGINE_ERROR, "The engine raised an error on this page. Report it with the detail."),
    "exclusion_invalid": Reason(
        _O.ENGINE_ERROR,
        "The browser knows no such selector. Correct `scan.exclude_elements` in the settings and start a new run."),
    "nothing_left": Reason(
        _O.ENGINE_ERROR,
        "`scan.exclude_elements` leaves nothing of the page to test, and what is not tested is not clean. Narrow the "
        "selector or its routes, or exclude the page itself with `exclude`; then start a new run."),
    "engine_empty": Reason(_O.ENGINE_ERROR, "The engine gave no result at all, not even for passed rules. Report it."),
}
STATUS_REASONS = ("status_4xx", "status_429", "status_5xx", "status_other")


def reason_of_status(status: int) -> str:
    """Return the reason for a status that shows no page; its own number is put in by `stable_word`."""
    if status == 429:
        return "status_429"
    if 500 <= status <= 599:
        return "status_5xx"
    return "status_4xx" if 400 <= status <= 499 else "status_other"


def stable_word(reason: str, status: int | None) -> str:
    """Return the word that is stored: a status names its own number (`status_404`)."""
    return f"status_{status}" if reason in STATUS_REASONS else reason
