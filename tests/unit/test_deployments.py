"""What is deployed, as files: they parse, they agree with each other, with fanfold's settings and with Prefect."""

import json
import re
from dataclasses import fields
from pathlib import Path
from uuid import UUID

import prefect
import pytest
import yaml
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.server.utilities.user_templates import render_user_template_sync, validate_user_template

from flows.capacity import ROUTE_MEMORY_BYTES
from flows.commands.automations import locate_file, read_automations, require_public
from flows.request import AuditRequest
from flows.settings import require_lasting_places
from schemas.errors import ContractError
from schemas.settings import Settings

CHECKOUT = Path(__file__).parents[2]
DEPLOYMENTS = CHECKOUT / "deployments"
POOLS = ("process", "docker", "kubernetes")
BLOCK = UUID(int=7)
METADATA = Path(prefect.__file__).parent / "server/api/collections_data/views/aggregate-worker-metadata.json"


def parsed(path):
    return yaml.safe_load((CHECKOUT / path).read_text("utf-8"))


def pool(kind):
    return json.loads((DEPLOYMENTS / "pools" / f"{kind}.json").read_text("utf-8"))


def known_to_prefect(kind):
    views = json.loads(METADATA.read_text("utf-8"))
    return next(view[kind]["default_base_job_configuration"] for view in views.values() if kind in view)


def test_every_deployment_says_what_it_is_and_takes_parameters_that_the_flow_knows():
    for deployment in parsed("prefect.yaml")["deployments"]:
        assert {"name", "version", "tags", "description", "schedules"} <= set(deployment)
        assert deployment["entrypoint"] == "flows.audit.audit_estate", "the path form loads a second copy"
        assert deployment["concurrency_limit"] == {"limit": 1, "collision_strategy": "CANCEL_NEW"}
        AuditRequest(**deployment["parameters"]["request"])
        assert (DEPLOYMENTS / deployment["name"] / "README.md").is_file()


def test_job_variables_are_settings_and_the_heartbeat_fits_the_zombie_automation():
    environment = parsed("prefect.yaml")["deployments"][0]["work_pool"]["job_variables"]["env"]
    settings = {f"FANFOLD_{item.name.upper()}" for item in fields(Settings)} | {"FANFOLD_ROOT"}
    assert {name for name in environment if name.startswith("FANFOLD_")} - settings == set()
    zombie = next(entry for entry in read_automations(str(locate_file()), BLOCK) if entry.name == "fanfold zombie")
    assert zombie.trigger.within.total_seconds() == 3 * int(environment["PREFECT_FLOWS_HEARTBEAT_FREQUENCY"])


@pytest.mark.parametrize(("store", "root", "named"), [
    ("/srv/store", "/srv/estates", []), ("s3://bucket/store", None, []), ("fanfold-store", None, ["FANFOLD_STORE"]),
    ("./store", "", ["FANFOLD_ROOT", "FANFOLD_STORE"]), ("/srv/store", "estates", ["FANFOLD_ROOT"])])
def test_places_of_a_deployment_last(monkeypatch, store, root, named):
    """The folder in which a worker starts a run is thrown away, and a store in it."""
    monkeypatch.delenv("FANFOLD_ROOT", raising=False)
    if root is not None:
        monkeypatch.setenv("FANFOLD_ROOT", root)
    refused = []
    try:
        require_lasting_places(Settings(store=store))
    except ContractError as error:
        refused = [offence.subject for offence in error.offences]
    assert refused == named


def test_automations_are_prefects_own_and_every_webhook_has_its_block():
    found = read_automations(str(locate_file()), BLOCK)
    assert [entry.name for entry in found] == [
        "fanfold incomplete", "fanfold blocked", "fanfold crashed", "fanfold dead letters", "fanfold no run",
        "fanfold still no run", "fanfold zombie"]
    blocks = [action.block_document_id for entry in found for action in entry.actions
              if action.type == "call-webhook"]
    assert blocks == [BLOCK] * 6
    silences = [(entry.trigger.within.total_seconds(), len(entry.trigger.after)) for entry in found
                if entry.name.endswith("no run")]
    assert silences == [(26 * 3600, 1), (26 * 3600, 0)]


@pytest.mark.parametrize(("name", "message", "tags", "text"), [
    ("Blocked", "Blocked: scanned 2 of 2 routes.", ["estate:shop", "nightly"],
     "fanfold: shop, run calm-owl: Blocked: scanned 2 of 2 routes."),
    ("Crashed", 'No heartbeat for "90" seconds', ["estate:shop"],
     'fanfold: shop, run calm-owl: Crashed: No heartbeat for "90" seconds'),
    ("BadInput", "estate.json: is not there", [], "fanfold: run calm-owl: BadInput: estate.json: is not there"),
    ("Failed", None, [], "fanfold: run calm-owl: Failed: "),
])
def test_an_alert_names_the_estate_and_says_the_state_once(name, message, tags, text):
    run = FlowRun(id=BLOCK, flow_id=BLOCK, name="calm-owl", tags=tags,
                  state=State(type=StateType.FAILED, name=name, message=message))
    of_states = read_automations(str(locate_file()), BLOCK)[:3]
    (payload,) = {action.payload for entry in of_states for action in entry.actions}
    validate_user_template(payload)
    estate = "shop" if tags else ""
    assert json.loads(render_user_template_sync(payload, {"flow_run": run})) == {
        "text": text, "estate": estate, "flow_run": str(BLOCK), "state": name}


def test_a_file_without_automations_of_prefects_form_is_named(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("automations: [{name: mine, trigger: {type: event, within: soon}}]", "utf-8")
    with pytest.raises(ContractError, match=r"mine\.yaml: mine"):
        read_automations(str(path), BLOCK)


@pytest.mark.parametrize("host", ["127.0.0.1:9432", "10.1.2.3", "[::1]:80", "localhost"])
def test_a_webhook_that_the_server_would_never_call_is_refused(host):
    with pytest.raises(ContractError, match="private") as refused:
        require_public(f"http://{host}/hook/token")
    assert "--allow-private" in str(refused.value)
    assert "token" not in str(refused.value), "the address is a secret"


@pytest.mark.parametrize("address", ["ftp://e.test/token", "e.test/token", "http:///token"])
def test_a_webhook_that_is_no_address_is_refused(address):
    with pytest.raises(ContractError) as refused:
        require_public(address)
    assert "token" not in str(refused.value)


def test_a_public_webhook_is_taken():
    require_public("https://93.184.215.14/hook")


@pytest.mark.parametrize("kind", POOLS)
def test_a_pool_template_is_closed_and_known_to_prefect(kind):
    """Docker and Kubernetes are not run here: every variable is declared, every key is one that the worker reads."""
    template, known = pool(kind), known_to_prefect(kind)
    used = set(re.findall(r"{{ (\w+) }}", json.dumps(template["job_configuration"])))
    declared = set(template["variables"]["properties"])
    assert used == declared
    assert set(template["job_configuration"]) <= set(known["job_configuration"])
    for name in declared & set(known["variables"]["properties"]):
        ours, theirs = template["variables"]["properties"][name], known["variables"]["properties"][name]
        kinds = {theirs.get("type"), *(option.get("type") for option in theirs.get("anyOf", []))}
        assert ours["type"] in kinds, name


def test_a_kubernetes_job_runs_as_a_user_with_a_grace_period():
    manifest = pool("kubernetes")["job_configuration"]["job_manifest"]
    theirs = known_to_prefect("kubernetes")["job_configuration"]["job_manifest"]
    assert (manifest["apiVersion"], manifest["kind"]) == (theirs["apiVersion"], theirs["kind"])
    spec = manifest["spec"]["template"]["spec"]
    assert (spec["securityContext"]["runAsNonRoot"], spec["terminationGracePeriodSeconds"] >= 30) == (True, True)
    assert manifest["spec"]["backoffLimit"] == 0, "a run is retried by Prefect, not by the cluster"


def test_quotas_fit_the_concurrency_settings():
    environment = parsed("prefect.yaml")["deployments"][0]["work_pool"]["job_variables"]["env"]
    routes = int(environment["FANFOLD_SHARDS_AT_ONCE"]) * int(environment["FANFOLD_IN_FLIGHT"])
    needed = routes * ROUTE_MEMORY_BYTES
    kubernetes, docker = (pool(kind)["variables"]["properties"] for kind in ("kubernetes", "docker"))
    assert int(kubernetes["cpu"]["default"]) == routes
    assert int(kubernetes["memory"]["default"].removesuffix("Gi")) * 2**30 > needed
    assert int(docker["mem_limit"]["default"].removesuffix("m")) * 2**20 > needed
    worker = parsed("deployments/docker/compose.yaml")["services"]["worker"]
    assert (worker["cpus"], int(worker["mem_limit"].removesuffix("m")) * 2**20 > needed) == (routes, True)


def test_the_image_has_a_pinned_browser_and_no_root():
    text = (DEPLOYMENTS / "docker" / "Dockerfile").read_text("utf-8")
    lines = [line for line in text.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]
    words = [line.split()[0] for line in lines if not line.startswith((" ", "&&"))]
    assert set(words) <= {"ARG", "FROM", "ENV", "WORKDIR", "COPY", "RUN", "USER", "STOPSIGNAL", "CMD"}
    assert words.index("USER") < words.index("CMD")
    assert "no-sandbox" not in text
    assert "pip install -c constraints.txt" in text
    for line in lines:
        if line.startswith("COPY"):
            assert [name for name in line.split()[1:-1] if not (CHECKOUT / name).exists()] == []
    assert re.search(r"^playwright==", (CHECKOUT / "constraints.txt").read_text("utf-8"), re.MULTILINE)


def test_compose_has_a_server_on_postgres_that_is_not_open_to_the_network():
    services = parsed("deployments/docker/compose.yaml")["services"]
    assert set(services) == {"database", "server", "worker"}
    assert services["server"]["environment"]["PREFECT_API_DATABASE_CONNECTION_URL"].startswith("postgresql+asyncpg://")
    assert services["server"]["ports"] == ["127.0.0.1:4200:4200"]
    assert services["worker"]["environment"]["PREFECT_API_URL"] == "http://server:4200/api"
    assert "privileged" not in json.dumps(services)
    assert {name for service in services.values() for name in service.get("depends_on", {})} <= set(services)
