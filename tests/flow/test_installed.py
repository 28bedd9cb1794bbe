"""Installed as a package: the wheel holds all that an audit needs, and works from another folder than the checkout."""

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.site import Answer, Site

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build the wheel with what is installed: no network, no isolation."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index",
                    "--disable-pip-version-check", "-w", folder, ROOT], check=True, capture_output=True, timeout=120)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """An environment of its own with the wheel; the dependencies are lent by the one that runs the tests."""
    folder = tmp_path_factory.mktemp("fresh")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=60)
    python = folder / "bin" / "python"
    subprocess.run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index",
                    "--disable-pip-version-check", wheel], check=True, capture_output=True, timeout=120)
    own = folder / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    (own / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")  # editable installs there stay unseen
    return folder


@pytest.fixture
def elsewhere(tmp_path):
    """A folder with a program of the user's that is called like one of our packages."""
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "__init__.py").write_text("raise SystemExit('the tasks of another program')\n", "utf-8")
    return tmp_path


def run(command, folder, timeout=170):
    """Start a command in a folder without any setting of the tests' own environment."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("PREFECT_", "FANFOLD_", "PYTHON")) and name != "VIRTUAL_ENV"}
    return subprocess.run([str(word) for word in command], cwd=folder, env=kept | {"PREFECT_HOME": str(folder / "p")},
                          capture_output=True, text=True, timeout=timeout, check=False, stdin=subprocess.DEVNULL)


def test_the_wheel_holds_every_file_that_is_no_module(wheel):
    """Schemas, scripts for the page, templates, sample pages; and nothing that is not ours."""
    listed = subprocess.run(["git", "ls-files", "flows", "tasks", "schemas", "data/sample"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.split()
    expected = {name.replace("data/sample/", "flows/sample_pages/") for name in listed if (ROOT / name).is_file()}
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert expected - packed == set()
    assert {name.partition("/")[0] for name in packed} == {"flows", "tasks", "schemas"}
    assert any(name.endswith(".schema.json") for name in expected)


def test_stages_work_from_another_folder(installed, tmp_path):
    with Site({}) as site:
        locations = "".join(f"<url><loc>{site.url(path)}</loc></url>" for path in ("/a", "/b"))
        site.answers["/sitemap.xml"] = Answer(
            f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{locations}</urlset>')
        planned = run([installed / "bin" / "python", "-m", "flows", "plan", site.url("/sitemap.xml"), "--run-id", "r1",
                       "--estate", "shop", "--json"], tmp_path)
        assert planned.returncode == 0, planned.stderr
        assert sorted(row["url"] for row in json.loads(planned.stdout)["routes"]) == [site.url("/a"), site.url("/b")]
    assert (tmp_path / "fanfold-store" / "shop" / "runs" / "r1" / "plan.json").is_file()


def test_the_sample_is_audited_beside_a_program_with_the_same_names(installed, elsewhere):
    """Neither the shard's process nor the server's takes the user's `tasks` for ours."""
    asked = run([installed / "bin" / "fanfold", "doctor", "--json"], elsewhere)
    packages = {check["state"]: check["found"] for check in json.loads(asked.stdout)["checks"]
                if check["name"] == "packages"}
    assert packages == {"warning": f"`tasks` of another program in {elsewhere}"}
    done = run([installed / "bin" / "fanfold", "audit", "sample", "--shards", "1", "--run-id", "r1"], elsewhere)
    assert (done.returncode, done.stdout[:7]) == (1, "BLOCKED"), done.stdout + done.stderr
    verdict = json.loads((elsewhere / "fanfold-store" / "sample" / "runs" / "r1" / "verdict.json").read_text("utf-8"))
    assert (verdict["kind"], verdict["coverage"]["covered_count"]) == ("blocked", verdict["coverage"]["in_scope_count"])
