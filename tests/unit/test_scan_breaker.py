"""A host that is down costs one try a route, then none."""

from tasks.scan.breaker import FAILURES_WITHOUT_RETRY, FAILURES_WITHOUT_VISIT, PROBE_SECONDS, Breaker

URL, OTHER = "http://a.test/x", "http://b.test/x"


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def failed(breaker: Breaker, times: int, reason: str = "connection_refused") -> Breaker:
    for _ in range(times):
        breaker.note(URL, reason)
    return breaker


def test_it_opens_after_failures_in_a_row() -> None:
    breaker = failed(Breaker(), FAILURES_WITHOUT_RETRY - 1)
    assert not breaker.is_open(URL)
    failed(breaker, 1)
    assert (breaker.is_open(URL), breaker.is_open(OTHER)) == (True, False)


def test_a_host_is_one_in_every_spelling() -> None:
    breaker = failed(Breaker(), FAILURES_WITHOUT_RETRY)
    assert [breaker.is_open(url) for url in ("http://A.test:80/y", "http://a.test:81/x")] == [True, False]


def test_any_sign_of_life_closes_it() -> None:
    for reason in ("tested", "status_4xx", "sign_in", "engine_failed", "renderer_crashed"):
        breaker = failed(Breaker(), FAILURES_WITHOUT_VISIT)
        breaker.note(URL, reason)
        assert (breaker.is_open(URL), breaker.may_visit(URL)) == (False, True)


def test_a_host_that_gave_up_is_probed_now_and_then() -> None:
    clock = Clock()
    breaker = failed(Breaker(clock), FAILURES_WITHOUT_VISIT)
    assert [breaker.may_visit(URL), breaker.may_visit(URL)] == [True, False]
    breaker.note(URL, "host_gave_up")
    assert breaker.is_open(URL)
    clock.now += PROBE_SECONDS
    assert [breaker.may_visit(URL), breaker.may_visit(URL), breaker.may_visit(OTHER)] == [True, False, True]


def test_what_is_deterministic_does_not_count() -> None:
    assert not failed(Breaker(), 50, "name_not_resolved").is_open(URL)
