"""Fingerprint v1: the same fault under one name, on every page and at every load."""

import json
from collections.abc import Iterator

import pytest

from tasks.scan.partial import Visited
from tests.browser.faulty_site import FAULT, Scanner, Site, html


def prints(visited: Visited, rule: str = "image-alt") -> list[str]:
    return sorted(row.fingerprint for row in visited.occurrences if row.rule == rule)


@pytest.fixture(scope="module")
def pairs(scanner: Scanner) -> Iterator[dict[str, tuple[str, str]]]:
    """Visit all cases at once: the engine lists nodes in document order, one of each case."""
    cases = GENERATED | DIFFERENT
    site = Site()
    columns = []
    for side in (0, 1):
        body = "".join(f"<section>{case[side]}</section>" for case in cases.values())
        visited = scanner.visit(site.put(f"/{side}", html(body)))
        columns.append([row.fingerprint for row in visited.occurrences if row.rule == "image-alt"])
    yield dict(zip(cases, zip(*columns, strict=True), strict=True))
    site.close()


GENERATED = {
    "React useId": ('<img src="/a.png" id=":r1:">', '<img src="/a.png" id=":r2b:">'),
    "React useId 19": ('<img src="/a.png" id="«r1»">', '<img src="/a.png" id="«r3a»">'),
    "React useId 19.1": ('<img src="/a.png" id="_r_1_">', '<img src="/a.png" id="_r_2k_">'),
    "random id": ('<img src="/a.png" id="react-k3j9x2ab">', '<img src="/a.png" id="react-z8w1qqop">'),
    "Radix": ('<img src="/a.png" id="radix-:r3:-trigger">', '<img src="/a.png" id="radix-:rf:-trigger">'),
    "Headless UI": ('<img src="/a.png" id="headlessui-menu-button-12">',
                    '<img src="/a.png" id="headlessui-menu-button-7">'),
    "Emotion": ('<img src="/a.png" class="css-1x2y3z">', '<img src="/a.png" class="css-9q8w7e">'),
    "Emotion with a label": ('<img src="/a.png" class="css-1x2y3z-Logo">',
                             '<img src="/a.png" class="css-9q8w7e-Logo">'),
    "CSS modules": ('<img src="/a.png" class="Card_image__a1B2c">', '<img src="/a.png" class="Card_image__9Zx8y">'),
    "styled-components": ('<img src="/a.png" class="sc-bdVaJa kYRKfh">', '<img src="/a.png" class="sc-hKwDye fVgZbn">'),
    "Angular": ('<img src="/a.png" _ngcontent-abc-c12 class="ng-tns-c12-3">',
                '<img src="/a.png" _ngcontent-xyz-c47 class="ng-tns-c47-9">'),
    "Ember": ('<img src="/a.png" id="ember123">', '<img src="/a.png" id="ember77">'),
    "Vue": ('<img src="/a.png" data-v-7ba5bd90>', '<img src="/a.png" data-v-1c2d3e4f>'),
    "Svelte": ('<img src="/a.png" class="logo svelte-1abc2de">', '<img src="/a.png" class="logo svelte-zz9y8x">'),
    "JSS": ('<img src="/a.png" class="makeStyles-root-12">', '<img src="/a.png" class="makeStyles-root-345">'),
    "UUID": ('<img src="/a.png" id="x-0b0f9c1e-6a55-4b0e-9c7e-2f4d5a6b7c8d">',
             '<img src="/a.png" id="x-9a8b7c6d-1234-4321-abcd-0123456789ab">'),
    "hashed file": ('<img src="/logo.3f2a1b9c.png">', '<img src="/logo.9d8e7f6a.png">'),
    "attribute order": ('<img src="/a.png" class="a b" id="x" width="1">',
                        '<img width="1" id="x" class="b a" src="/a.png">'),
    "state": ('<img src="/a.png" class="tile is-active">', '<img src="/a.png" class="tile">'),
    "inserted sibling": ("<div><img src='/a.png'></div>", "<p>new</p><div><p>new</p><img src='/a.png'></div>"),
}
DIFFERENT = {
    "two landmarks": ("<nav><img src='/a.png'></nav>", "<aside><img src='/a.png'></aside>"),
    "two components": ("<img src='/a.png' class='logo'>", "<img src='/a.png' class='banner'>"),
    "two files": ("<img src='/logo.png'>", "<img src='/banner.png'>"),
    "BEM blocks": ("<img src='/a.png' class='card__image'>", "<img src='/a.png' class='hero__image'>"),
    "words are no hashes": ("<img src='/a.png' id='primary-navigation'>", "<img src='/a.png' id='secondary-toolbar'>"),
}


@pytest.mark.parametrize("case", GENERATED)
def test_what_a_build_generates_does_not_count(pairs: dict[str, tuple[str, str]], case: str) -> None:
    one, other = pairs[case]
    assert one == other


@pytest.mark.parametrize("case", DIFFERENT)
def test_different_faults_stay_apart(pairs: dict[str, tuple[str, str]], case: str) -> None:
    one, other = pairs[case]
    assert one != other


def test_random_ids_in_two_landmarks_are_two_findings_at_every_load(site: Site, scanner: Scanner) -> None:
    """The case that made others report everything as new: neither one finding nor four."""
    body = """<nav></nav><section></section><script>for (const at of ["nav", "section"]) {
        const i = new Image(); i.id = "react-" + Math.random().toString(36).slice(2); i.src = "/a.png";
        document.querySelector(at).append(i) }</script>"""
    url = site.put("/", html(body))
    first, second = prints(scanner.visit(url)), prints(scanner.visit(url))
    assert first == second and len(set(first)) == 2


def test_one_template_fault_is_one_finding(site: Site, scanner: Scanner) -> None:
    header = '<header class="top"><a href="/"><img src="/logo.png"></a></header>'
    seen = set()
    for number, body in enumerate(["<p>one</p>", "<ul><li>x</li></ul><img src='/pic.png'>", "<h2>three</h2>"]):
        visited = scanner.visit(site.put(f"/{number}", html(header + body)))
        seen.update(prints(visited))
    assert len(seen) == 2


def test_equal_siblings_stay_apart_by_their_count(site: Site, scanner: Scanner) -> None:
    found = prints(scanner.visit(site.put("/", html(f"<ul><li>{FAULT}</li><li>{FAULT}</li></ul>"))))
    assert len(found) == 2 and len(set(found)) == 1


def test_the_same_node_in_two_frames_is_two_findings(site: Site, scanner: Scanner) -> None:
    site.put("/x", html(FAULT))
    site.put("/y", html(FAULT))
    body = '<iframe title="a" name="left" src="/x"></iframe><iframe title="b" name="right" src="/y"></iframe>'
    found = prints(scanner.visit(site.put("/", html(body))))
    assert len(found) == 2 and len(set(found)) == 2


def test_shadow_roots_are_part_of_the_path(site: Site, scanner: Scanner) -> None:
    body = """<x-card></x-card><x-hero></x-hero><script>for (const name of ["x-card", "x-hero"]) {
        const root = document.querySelector(name).attachShadow({mode: "open"}); root.innerHTML = "<div id='d'></div>";
        root.getElementById("d").attachShadow({mode: "open"}).innerHTML = '<img src="/a.png">' }</script>"""
    visited = scanner.visit(site.put("/", html(body)))
    found = prints(visited)
    assert len(found) == 2 and len(set(found)) == 2
    row = next(row for row in visited.occurrences if row.rule == "image-alt")
    assert json.loads(row.target) == [["x-card", "#d", "img"]]
    assert [part["steps"][-1][0] for part in json.loads(row.path)] == ["x-card", "div", "img"]


def test_the_ingredients_of_a_node(site: Site, scanner: Scanner) -> None:
    field = '<input type="text" name="q9" class="css-1a2b3c">'
    body = f'<nav id="n" class="b a"><ul role="LIST"><li>{field}</li></ul></nav>'
    visited = scanner.visit(site.put("/", html(body)))
    row = next(row for row in visited.occurrences if row.rule == "label")
    assert json.loads(row.path) == [{
        "names": ["name", "type"],
        "steps": [["nav", "", "n", ["a", "b"]], ["ul", "list", "", []], ["li", "", "", []],
                  ["input", "", "", ["css-*"]]],
        "values": {"name": "q#", "type": "text"},
    }]


def test_a_form_with_fields_that_shadow_its_own_properties(site: Site, scanner: Scanner) -> None:
    fields = ("id", "className", "attributes", "localName", "title")
    body = f'<form>{"".join(f"<input name={name!r}>" for name in fields)}</form>'
    rows = [row for row in scanner.visit(site.put("/", html(body))).occurrences if row.rule == "label"]
    assert sorted(json.loads(row.path)[0]["values"]["name"] for row in rows) == sorted(fields)
