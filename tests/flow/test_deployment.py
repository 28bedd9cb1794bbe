"""What is deployed, on a real server: a typed form, checked parameters, alerts."""

from datetime import timedelta

import pytest

from flows.request import AuditRequest
from tests.flow.api import moment_of, wait_for
from tests.flow.conftest import SHORT_SECONDS
from tests.flow.cut_run import WITHOUT_LIMIT
from tests.site import small_site

pytestmark = pytest.mark.timeout(600)
ALERTS = ["fanfold blocked", "fanfold crashed", "fanfold dead letters", "fanfold incomplete", "fanfold no run",
          "fanfold still no run", "fanfold zombie"]


def test_parameters_are_a_typed_form_and_are_checked(deployed, ui):
    """125: parameters name things; what is unknown or of a wrong type is refused before anything runs."""
    nightly = deployed.deployment()
    assert (nightly["version"], nightly["concurrency_limit"] or nightly["global_concurrency_limit"]["limit"]) == (
        "0.1.0", 1)
    assert nightly["concurrency_options"]["collision_strategy"] == "CANCEL_NEW"
    assert [schedule["schedule"]["cron"] for schedule in nightly["schedules"]] == ["30 1 * * *"]
    for request in ({"source": "a.json", "unknown": 1}, {"source": "a.json", "shards": "four"}, {}, {"source": ""}):
        answer = deployed.ask("POST", f"deployments/{nightly['id']}/create_flow_run",
                              {"parameters": {"request": request}})
        assert answer.status_code == 409, request
    ui.goto(f"/deployments/deployment/{nightly['id']}/run")
    for field in AuditRequest.model_fields.values():
        plain = field.description.partition("`")[0].strip()  # the form renders markdown
        ui.get_by_text(plain).first.wait_for(timeout=10_000)


def test_a_parameter_never_names_a_path_of_the_worker(working):
    runs = [working.start(WITHOUT_LIMIT, {"source": source}) for source in ("/etc/hostname", "../outside.json")]
    states = [working.ended(run_id)["state"] for run_id in runs]
    assert [(state["name"], "leaves the configured root" in state["message"]) for state in states] == [
        ("BadInput", True)] * 2


def test_a_deployment_without_its_places_is_bad_input(working):
    """`prefect deploy` with nothing exported leaves empty variables: evidence would end with the worker's folder."""
    working.copy_deployment("without-places", FANFOLD_ROOT="", FANFOLD_STORE="")
    with small_site(1) as site:
        source = site.url("/p00")
        state = working.ended(working.start("without-places", {"source": source}))["state"]
    assert (state["name"], site.log) == ("BadInput", []), state["message"]
    assert [line.partition(":")[0] for line in state["message"].splitlines()] == ["FANFOLD_ROOT", "FANFOLD_STORE"]


def test_alerts_are_installed_once(deployed):
    names = [automation["name"] for automation in deployed.post("automations/filter", {})]
    assert sorted(name for name in names if name.startswith("fanfold")) == ALERTS
    assert deployed.again.count("replaced: ") == len(ALERTS)


def test_a_private_webhook_is_refused_before_anything_is_installed(deployed, hook):
    refused = deployed.run("flows", "automations", "install", "--webhook", hook.address, check=False)
    assert (refused.returncode, refused.stdout) == (3, ""), refused.stderr
    assert "--allow-private" in refused.stderr


def test_no_run_for_a_time_is_told(working, hook):
    """The alarm of 26 hours, set to seconds: the time counts from the last verdict, not from a clock of its own."""
    with small_site(1) as site:
        site.manifest(working.root / "silence.json", estate="silence")
        done = working.ended(working.start(WITHOUT_LIMIT, {"source": "silence.json"}))
    assert done["state_name"] == "Completed"
    verdict_at = moment_of(done["state"])  # the run had told its verdict a moment before
    time_up = verdict_at + timedelta(seconds=SHORT_SECONDS)
    late = [timedelta(seconds=-3), timedelta(seconds=9)]  # the server looks every five seconds
    calls = wait_for(lambda: [call["at"] - time_up for call in hook.named("NoRun")
                              if call["at"] > verdict_at + timedelta(seconds=3)], 3 * SHORT_SECONDS)
    assert late[0] < calls[0] < late[1]
    wait_for(lambda: [call for call in hook.named("StillNoRun") if call["at"] > verdict_at], 3 * SHORT_SECONDS)
