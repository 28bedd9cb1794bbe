"""The HTML report: a folder of pages that open from disk without a network, or one page for a small run.

Here: which sections there are, on which pages, and the policy that makes every page inert: no network, no script but
ours by its digest. Not here: lists (`lists.py`), facts (`facts.py`), markup and style (`templates/`).
"""

import hashlib
from base64 import b64encode
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from schemas.finding import Finding
from schemas.plural import plural
from schemas.report_material import ReportMaterial
from schemas.route import Journey
from tasks.report import lists
from tasks.report.chart import draw_shards, draw_trend, slice_coverage
from tasks.report.details import SHOWN_ROUTES, Details, lay_out_details
from tasks.report.facts import best_repairs, cell_rows, shard_facts
from tasks.report.inert import xml_text
from tasks.report.listing import Listing, is_link

SINGLE_PAGE = "report.html"
SHOWN_LETTERS = 20
FILES = ("findings.csv", "routes.csv", "junit.xml", "results.sarif", "summary.md")
PARENTS = {"details": "findings"}  # what the navigation marks on pages that it does not name
JOURNEYS = tuple(journey.value for journey in Journey)


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report: one body for each page that it takes. `count` stands in the navigation."""

    name: str
    title: str
    bodies: tuple[str, ...]
    count: int | None = None
    is_in_navigation: bool = True


@dataclass(frozen=True, slots=True)
class Binding:
    """Where things are: a page each, or all on one."""

    is_single: bool

    def page(self, name: str, part: int = 1) -> str:
        """Name the file of a section's part."""
        if self.is_single:
            return SINGLE_PAGE
        return f"{name}.html" if part == 1 else f"{name}-{part}.html"

    def href(self, name: str, part: int = 1, anchor: str = "") -> str:
        """Return a link to a section, or to a place in it."""
        if self.is_single:
            return f"#{anchor or name}"
        return self.page(name, part) + (f"#{anchor}" if anchor else "")


def html_files(material: ReportMaterial, *, is_single: bool = False) -> dict[str, bytes]:
    """Return the pages of the report by name; `report.html` alone where it is single."""
    binding = Binding(is_single)
    sections = list(_sections(material, binding))
    if is_single:
        bodies = [body for section in sections for body in section.bodies]
        return {SINGLE_PAGE: _page(material, "Report", bodies, _navigation(sections, binding, ""))}
    navigations = {section.name: _navigation(sections, binding, PARENTS.get(section.name, section.name))
                   for section in sections}
    return {binding.page(section.name, part): _page(material, section.title, [body], navigations[section.name])
            for section in sections for part, body in enumerate(section.bodies, 1)}


def _sections(material: ReportMaterial, binding: Binding) -> Iterator[Section]:
    shown = environment().get_template("finding.html")
    details = lay_out_details(material.verdict.findings, lambda finding, anchor: shown.render(
        finding=finding, anchor=anchor, shown_routes=SHOWN_ROUTES))

    def place(finding: Finding) -> str | None:
        found = details.places.get((finding.fingerprint, finding.is_violation))
        return binding.href("details", *found) if found else None

    yield Section("index", "Overview", (_first(material, binding, place),))
    yield _section(lists.list_findings(material, place, is_violation=True), binding)
    yield _section(lists.list_findings(material, place, is_violation=False), binding)
    yield Section("details", "Details", tuple(_details_bodies(details, binding)), is_in_navigation=False)
    yield _section(lists.list_dead_letters(material), binding)
    yield _section(lists.list_routes(material), binding)
    yield _section(lists.list_owners(material), binding)
    yield _section(lists.list_shards(material), binding, before=_render(
        "shards.html", header=material.plan.header, bars=draw_shards(shard_facts(material))))
    yield _section(lists.list_suppressions(material), binding)
    yield _section(lists.list_quarantine(material), binding)
    yield _section(lists.list_trend(material), binding, before=_render("trend.html", bars=draw_trend(material)))
    yield _section(lists.list_excluded(material), binding)
    yield Section("settings", "Settings", (_settings(material),))


def _section(listing: Listing, binding: Binding, before: str = "") -> Section:
    parts = listing.without_empty_columns().parts()
    hrefs = [binding.href(listing.name, number) for number in range(1, len(parts) + 1)]
    bodies = tuple(_render("listing.html", listing=part, part_hrefs=hrefs, data=Markup(part.data),  # noqa: S704
                           before=Markup(before), after="") for part in parts)  # noqa: S704
    return Section(listing.name, listing.title, bodies, len(listing.rows))


def _details_bodies(details: Details, binding: Binding) -> Iterator[str]:
    hrefs = [binding.href("details", number) for number in range(1, len(details.parts) + 1)]
    for part, articles in enumerate(details.parts, 1):
        yield _render("details.html", name="details", title="Findings in detail", part=part, part_hrefs=hrefs,
                      articles=[Markup(article) for article in articles], cut_count=details.cut_count)  # noqa: S704


def _first(material: ReportMaterial, binding: Binding, place: Callable[[Finding], str | None]) -> str:
    coverage, repairs = material.verdict.coverage, best_repairs(material)
    reasons_of: dict[str, list[str]] = defaultdict(list)
    for name, count in sorted(coverage.by_reason.items(), key=lambda item: (-item[1], item[0])):
        kind, _, reason = name.partition("/")
        reasons_of[kind].append(f"{reason.replace('_', ' ')} {count}")
    return _render("first.html", word=material.headline, sentence=material.sentence, verdict=material.verdict,
                   coverage=coverage, header=material.plan.header, slices=slice_coverage(material),
                   reasons_of=reasons_of, journeys=JOURNEYS, cells=cell_rows(material), repairs=repairs,
                   places=[place(repair.finding) for repair in repairs], letters=material.dead_letters,
                   shown_letters=SHOWN_LETTERS, letters_href=binding.href("dead-letters"), files=FILES,
                   is_single=binding.is_single,
                   violation_count=sum(finding.is_violation for finding in material.verdict.findings))


def _settings(material: ReportMaterial) -> str:
    header = material.plan.header
    rules = sorted(header.engine.rules, key=lambda rule: rule.rule)
    facts = list(_flat("", {**material.verdict.provenance, "scan": {
        name: getattr(header.scan, name) for name in type(header.scan).__slots__ if name != "secret_parameters"}}))
    return _render("settings.html", header=header, facts=facts, rules_on=[r.rule for r in rules if r.is_on],
                   rules_off=[r.rule for r in rules if not r.is_on])


def _flat(name: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _flat(f"{name}.{key}" if name else str(key), item)
    elif isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value):
        yield from ((f"{name} {number}", _said(item)) for number, item in enumerate(value, 1))
    elif isinstance(value, list | tuple):
        yield name, ", ".join(map(_said, value))
    else:
        yield name, _said(value)


def _said(value: object) -> str:
    """Say a setting as it is written in YAML: a pair is a key with its value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ": ".join(map(_said, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_said(item)}" for key, item in value.items() if item is not None)
    return "" if value is None or value == {} else str(value)


def _navigation(sections: Sequence[Section], binding: Binding, here: str) -> list[dict[str, object]]:
    return [{"title": section.title, "count": section.count, "is_here": section.name == here,
             "href": binding.href(section.name, anchor="content" if binding.is_single and section.name == "index"
                                  else "")}
            for section in sections if section.is_in_navigation]


def _page(material: ReportMaterial, title: str, bodies: Sequence[str], navigation: Sequence[object]) -> bytes:
    css, script = asset("report.css"), asset("listing.js")
    has_list = any("data-listing" in body for body in bodies)
    allowed = f" script-src {_digest(script)};" if has_list else ""
    text = _render(
        "page.html", header=material.plan.header, word=material.headline, title=title,
        policy=f"default-src 'none'; style-src {_digest(css)};{allowed} base-uri 'none'; form-action 'none'",
        navigation=navigation, bodies=[Markup(body) for body in bodies], css=Markup(css),  # noqa: S704 - rendered here
        script=Markup(script) if has_list else "")  # noqa: S704 - our own file
    return xml_text(text).encode("utf-8")  # control characters mean nothing in HTML either


def _digest(source: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


def _render(template: str, **values: Any) -> str:
    return environment().get_template(template).render(**values)


@cache
def asset(name: str) -> str:
    """Return our style or script as it stands in the pages: its digest is in their policy."""
    source, *_ = environment().loader.get_source(environment(), name)  # type: ignore[union-attr]
    return source


@cache
def environment() -> Environment:
    """Return the template engine: everything is escaped, a missing value is an error."""
    made = Environment(loader=PackageLoader("tasks.report"), autoescape=True, undefined=StrictUndefined,
                       trim_blocks=True, lstrip_blocks=True)
    made.filters["amount"] = lambda value: f"{value:,}"
    made.filters["plural"] = lambda count, noun, many="": f"{count:,} {plural(count, noun, many).partition(' ')[2]}"
    made.filters["word"] = lambda count, one, many: one if count == 1 else many
    made.filters["is_link"] = is_link
    return made
