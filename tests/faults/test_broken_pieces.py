"""Break what lies in the store, then go on: broken pieces are named, their routes scanned again, the rest is kept."""

import contextlib
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from schemas.errors import IntegrityError, TransientError
from schemas.layout import RunLayout
from schemas.shape import table_of
from schemas.verdict import VerdictKind
from tasks.commit import Shelf, committed_numbers, read_receipt, write_receipt, write_triple
from tests.site import FAULT, page, small_site

FAULTY = frozenset({1, 4})


def shelf_of(legs, shard_index=0):
    return Shelf(legs.store, legs.run.ref.layout, legs.run.plan_id, shard_index)


def first_triple(legs, kind):
    name = shelf_of(legs).attempts()[0]
    return legs.run.ref.layout.triple(0, name, kind, committed_numbers(shelf_of(legs), name)[0])


@pytest.mark.parametrize("kind", ["outcomes", "occurrences"])
@pytest.mark.parametrize("harm", [lambda data: data[:-3], lambda data: b"", lambda data: data[:40] + b"x" + data[41:]],
                         ids=["cut", "empty", "changed"])
def test_a_broken_triple_is_quarantined_and_healed_by_the_next_attempt(whole, kind, harm):
    """081: a file cut by three bytes, empty, or changed."""
    site, legs, expected = whole
    key = first_triple(legs, kind)
    legs.store.write(key, harm(legs.store.read(key)))
    verdict = legs.fold()
    quarantined = legs.rows("quarantine", ("file", "kind"))
    assert (verdict.kind, quarantined) == (VerdictKind.INCOMPLETE, [{"file": key, "kind": "triple"}])
    assert {row["outcome"] for row in legs.rows("outcomes", ("outcome",))} == {"missing"}
    legs.scan(flow_attempt="retry")
    assert legs.fold().kind is VerdictKind.BLOCKED
    assert (sorted(site.log), legs.dataset()) == ([f"/p{i:02d}" for i in range(6)], expected)


@pytest.mark.parametrize("change", [{"plan_id": "f" * 64}, {"run": RunLayout("site", "r0")}, {"shard_index": 7}],
                         ids=["stale plan", "run of another day", "foreign shard"])
def test_a_triple_of_another_plan_run_or_shard_is_not_adopted(whole, change):
    site, legs, expected = whole
    foreign = replace(shelf_of(legs), **change)
    tables = {kind: legs.store.read_table(first_triple(legs, kind))[0]
              for kind in ("outcomes", "occurrences", "rule_results")}
    write_triple(foreign, "attempt-9-00000000", 1, tables)
    if "plan_id" not in change:  # its files, in the wrong folder
        for kind in tables:
            wrong = foreign.run.triple(foreign.shard_index, "attempt-9-00000000", kind, 1)
            legs.store.write(legs.run.ref.layout.triple(0, "attempt-9-00000000", kind, 1), legs.store.read(wrong))
    report = legs.scan()
    assert "not adopted" in report.log_tail
    legs.fold()
    assert (site.log, legs.dataset()) == ([], expected)


def test_partials_of_another_day_are_no_scan_of_today(start):
    """Two days of one manifest have one plan id: yesterday's receipts in today's folder pass nothing."""
    with small_site(2) as site:
        yesterday = start(site, "r1")
        yesterday.scan()
        today = start(site, "r2")
    assert today.run.plan_id == yesterday.run.plan_id
    root = Path(today.run.ref.store)
    shutil.copytree(root / yesterday.run.ref.layout.root / "partials", root / today.run.ref.layout.root / "partials")
    verdict = today.fold()
    assert (verdict.kind, {row["outcome"] for row in today.rows("outcomes", ("outcome",))}) == (
        VerdictKind.INCOMPLETE, {"missing"})
    assert {row["kind"] for row in today.rows("quarantine", ("kind",))} == {"receipt", "triple"}


def test_a_quarantined_row_is_scanned_again_and_can_heal_the_run(whole):
    """088: an impossible value in one row: that route is owed a scan, its neighbours are not."""
    site, legs, expected = whole
    shelf = shelf_of(legs)
    name = shelf.attempts()[0]
    rows = legs.store.read_table(first_triple(legs, "outcomes"))[0].to_pylist()
    for row in rows:
        row["status"] = -1 if row["url"].endswith("/p02") else row["status"]
    tables = {kind: legs.store.read_table(first_triple(legs, kind))[0] for kind in ("occurrences", "rule_results")}
    ref = write_triple(shelf, name, 1, tables | {"outcomes": table_of("outcome", rows)})
    receipt = read_receipt(shelf, name)
    write_receipt(shelf, replace(receipt, triples=(ref,)))
    verdict = legs.fold()
    (quarantined,) = legs.rows("quarantine", ("kind", "reason", "shard_index"))
    assert (verdict.kind, quarantined) == (
        VerdictKind.INCOMPLETE, {"kind": "outcomes", "reason": "status is below 0", "shard_index": 0})
    legs.scan(flow_attempt="retry")
    assert legs.fold().kind is VerdictKind.BLOCKED
    assert (site.log, legs.dataset()) == (["/p02"], expected)


def test_a_route_that_converge_downgraded_is_scanned_again_and_can_heal_the_run(start):
    """More than five routes on to one address outside the plan look like one page for all: judged only in the fold."""
    with small_site(2) as site:
        moved = [f"/m{i}" for i in range(6)]
        site.answers |= {path: page("Moved", "<script>location.replace('/all')</script>") for path in moved}
        legs = start(site)
        site.answers["/all"] = page("One page for all")
        legs.scan()
        verdict = legs.fold()
        assert verdict.kind is VerdictKind.INCOMPLETE
        found = {row["url"].rpartition("/")[2]: row["outcome"] for row in legs.rows("outcomes", ("url", "outcome"))}
        assert {found[path[1:]] for path in moved} == {"wrong_page"}
        site.answers |= {path: page(f"Page {path}") for path in moved}
        site.log.clear()
        legs.scan(flow_attempt="retry")
        assert legs.fold().kind is VerdictKind.PASSED
        assert sorted(site.log) == moved


def test_a_full_disk_loses_nothing_that_was_committed(start, tmp_path):
    """The store's disk fills up: the shard dies, nothing is clean for it, and with room again the run goes on."""
    small = tmp_path / "store"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(small)], check=False,
                             capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("a disk of 2 MB needs the right to mount one")
    try:
        with small_site(6, FAULTY) as site:
            legs = start(site)
            filler = small / "filler"
            with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
                while file.write(b"x" * 4096):
                    pass
            with pytest.raises((TransientError, OSError), match=r"died|No space left"):
                legs.scan()
            filler.unlink()
            assert legs.fold().kind is VerdictKind.INCOMPLETE
            legs.scan_until_it_lives(flow_attempt="retry")
            assert legs.fold().kind is VerdictKind.BLOCKED
    finally:
        subprocess.run(["umount", "-l", str(small)], check=False)


def test_a_fold_refuses_a_plan_that_does_not_hold_together(start):
    with small_site(3) as site:
        legs = start(site)
        key = legs.run.ref.layout.file("plan.parquet")
        table, footer, _ = legs.store.read_table(key)
        legs.store.write_table(key, table.slice(1), footer)
        with pytest.raises(IntegrityError, match="plan"):
            legs.fold()


def test_a_page_is_a_row_whatever_else_breaks(start):
    """Findings of a route come from the same triple as its outcome: attempt 1 says A and B, attempt 2 says A."""
    with small_site(1) as site:
        site.answers["/p00"] = page("Page 0", FAULT + "<input>")
        legs = start(site)
        legs.scan()
        legs.fold()
        assert {row["rule"] for row in legs.rows("occurrences", ("rule", "is_violation"))} == {"image-alt", "label"}
        site.answers["/p00"] = page("Page 0", FAULT)
        legs.run = replace(legs.run, rescan=("glob:/p00",))
        legs.scan()
        legs.fold()
        found = [(row["rule"], row["attempt"]) for row in legs.rows("occurrences", ("rule", "attempt"))]
        assert found == [("image-alt", 2)]
