"""Laws of converge: commutative over shards, idempotent, associative; the denominator is always the plan."""

from collections import Counter
from dataclasses import replace

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.evidence import Evidence
from schemas.outcome import ADDED_BY_CONVERGE, OutcomeKind
from tasks.converge import converge
from tests.small_estate import FIRST, SECOND, evidence_of, occurrence, outcome, plan_of, receipt, results, route, table

ROUTES = [route(f"/p{i}", i % 3, journey=("primary", "secondary")[i % 2], is_in_scope=i != 8,
                carried_from_run_id="r0" if i == 8 else None) for i in range(9)]
PLAN = plan_of(*ROUTES)
SHARD_KINDS = sorted(kind.value for kind in OutcomeKind if kind not in ADDED_BY_CONVERGE)
TRIPLES = ((FIRST, 1), (FIRST, 2), (SECOND, 1))
quick = settings(max_examples=20, deadline=None)

rows = st.builds(
    lambda row, kind, triple, target, landing: outcome(
        row, kind, *triple, redirected_to=target.task_id if kind == "redirected" else None, final_url=landing),
    st.sampled_from(ROUTES), st.sampled_from(["scanned", *SHARD_KINDS]), st.sampled_from(TRIPLES),
    st.sampled_from(ROUTES), st.sampled_from(["https://e.test/sorry", None]))
nodes = st.builds(
    lambda row, node, impact, is_violation, triple: occurrence(
        row, node=node, impact=impact, is_violation=is_violation, attempt_name=triple[0], number=triple[1]),
    st.sampled_from(ROUTES), st.sampled_from(["img", "b", "i"]), st.sampled_from(["critical", "minor", None]),
    st.booleans(), st.sampled_from(TRIPLES))


def unlike(found, key):
    """Keep the first outcome of each key, as one triple holds it once."""
    return list({key(record): record for record in reversed(found)}.values())


@st.composite
def evidences(draw):
    """Rows of three shards in three triples each; receipts that may lack or turn their order."""
    outcomes = unlike(draw(st.lists(rows, max_size=25)), lambda r: (r.task_id, r.attempt_name, r.triple_number))
    seen = draw(st.lists(nodes, max_size=25))
    seen += seen[:draw(st.integers(0, 3))]  # nodes that are equal in every column are as many as they are
    receipts = {index: receipt(PLAN, index, *draw(st.permutations(TRIPLES)),
                               ended_by=draw(st.sampled_from(["finished", "run_budget", "cancelled"])))
                for index in draw(st.sets(st.integers(0, 2)))}
    ran = [result for row in outcomes if row.outcome.was_scanned
           for result in results(ROUTES[[r.task_id for r in ROUTES].index(row.task_id)],
                                 attempt_name=row.attempt_name, number=row.triple_number)]
    return evidence_of(PLAN, outcomes, seen, ran, receipts)


def comparable(converged):
    """The dataset as values; the order of a table's rows is that of the evidence and says nothing."""
    return (converged.outcomes, converged.findings, converged.sightings, converged.dead_letters, converged.quarantined,
            sorted(map(str, converged.occurrences.to_pylist())), sorted(map(str, converged.rule_results.to_pylist())))


def joined(left, right):
    return Evidence(left.receipts | right.receipts, left.outcomes + right.outcomes,
                    pa.concat_tables([left.occurrences, right.occurrences]),
                    pa.concat_tables([left.rule_results, right.rule_results]), left.quarantined + right.quarantined)


def of_shards(evidence, *shards):
    def part(data):
        return data.filter(pa.array([index in shards for index in data["shard_index"].to_pylist()], pa.bool_()))
    return Evidence({i: r for i, r in evidence.receipts.items() if i in shards},
                    tuple(row for row in evidence.outcomes if row.shard_index in shards),
                    part(evidence.occurrences), part(evidence.rule_results))


@quick
@given(evidences(), st.permutations([0, 1, 2]))
def test_commutative_over_the_order_of_shards(evidence, order):
    turned = of_shards(evidence, order[0])
    for shard in order[1:]:
        turned = joined(turned, of_shards(evidence, shard))
    assert comparable(converge(PLAN, turned)) == comparable(converge(PLAN, evidence))


@quick
@given(evidences())
def test_idempotent_under_replayed_evidence(evidence):
    assert comparable(converge(PLAN, joined(evidence, evidence))) == comparable(converge(PLAN, evidence))


@quick
@given(evidences(), st.integers(0, 2))
def test_idempotent_where_one_shard_is_replayed(evidence, shard):
    assert comparable(converge(PLAN, joined(evidence, of_shards(evidence, shard)))) == comparable(
        converge(PLAN, evidence))


@quick
@given(evidences())
def test_no_occurrence_of_a_winning_triple_is_lost(evidence):
    converged = converge(PLAN, evidence)
    winners = {(r.task_id, r.attempt_name, r.triple_number) for r in converged.outcomes if r.outcome.was_scanned}
    assert sorted(map(str, converged.occurrences.to_pylist())) == sorted(
        str(row) for row in evidence.occurrences.to_pylist()
        if (row["task_id"], row["attempt_name"], row["triple_number"]) in winners)


@quick
@given(evidences())
def test_associative_where_rows_are_merged(evidence):
    a, b, c = (of_shards(evidence, shard) for shard in range(3))
    assert comparable(converge(PLAN, joined(joined(a, b), c))) == comparable(converge(PLAN, joined(a, joined(b, c))))


@quick
@given(evidences(), st.randoms(use_true_random=False))
def test_the_order_of_rows_says_nothing(evidence, random):
    shuffled = list(evidence.outcomes)
    random.shuffle(shuffled)
    turned = evidence.occurrences.take(pa.array(random.sample(range(evidence.occurrences.num_rows),
                                                              evidence.occurrences.num_rows), pa.int64()))
    assert comparable(converge(PLAN, replace(evidence, outcomes=tuple(shuffled), occurrences=turned))) == comparable(
        converge(PLAN, evidence))


@quick
@given(evidences())
def test_one_outcome_per_planned_route_and_the_sum_holds(evidence):
    """Fault 076: planned = settled + unsettled + missing + carried, whatever was left behind."""
    converged = converge(PLAN, evidence)
    assert [row.task_id for row in converged.outcomes] == [row.task_id for row in PLAN.routes]
    assert Counter(row.outcome for row in converged.outcomes).total() == len(PLAN.routes)
    owed = [row.task_id for row in converged.outcomes
            if row.outcome is not OutcomeKind.CARRIED and not row.is_settled]
    assert set(owed) <= {letter.task_id for letter in converged.dead_letters}


@quick
@given(evidences())
def test_findings_and_occurrences_agree_and_come_from_scanned_routes_only(evidence):
    converged = converge(PLAN, evidence)
    counted = sum(finding.occurrence_count for finding in converged.findings)
    assert counted == converged.occurrences.num_rows == sum(sighting.count for sighting in converged.sightings)
    scanned = {row.task_id for row in converged.outcomes if row.outcome.was_scanned}
    assert set(converged.occurrences["task_id"].to_pylist()) <= scanned
    assert set(converged.rule_results["task_id"].to_pylist()) <= scanned


@quick
@given(evidences())
def test_what_it_made_converges_to_itself(evidence):
    """Folding the fold: winning rows alone give the same dataset, but for what had to be set aside."""
    once = converge(PLAN, evidence)
    again = converge(PLAN, replace(
        evidence, occurrences=once.occurrences, rule_results=once.rule_results, quarantined=once.quarantined))
    assert comparable(again)[:4] == comparable(once)[:4]


def test_the_strategy_reaches_findings_and_quarantine():
    """The laws above would hold of nothing, too."""
    evidence = evidence_of(PLAN, [outcome(row) for row in ROUTES], [occurrence(row) for row in ROUTES])
    converged = converge(PLAN, evidence)
    assert (len(converged.findings), len(converged.quarantined), table("finding", converged.findings).num_rows) == (
        1, 1, 1)
