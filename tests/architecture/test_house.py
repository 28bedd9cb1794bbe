"""The house keeps its own rules: the journey's table is the folder, no drawers, short modules, no stray Prefect."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import packages_distributions
from pathlib import Path

import pyarrow as pa

import tasks
from tasks.store import Store

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("flows", "tasks", "schemas")
DRAWERS = {"utils", "helpers", "common", "core", "base", "manager", "processor", "misc"}
SHARED_BY_EFFECTS = {"store", "freeze", "commit"}
LONGEST_LINES = 250
NAMED_PLACE = re.compile(r"`((?:flows|tasks|schemas|tests|docs|data|deployments)/[\w/.-]*|[\w/-]+\.py)`")


def modules():
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def imported_by(paths: Iterable[Path]) -> set[str]:
    """Names of what is imported from elsewhere, also where a module only takes its files, as they are installed."""
    names: set[str] = set()
    for path in paths:
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                names |= {name.name for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                names.add(node.module)
        names |= set(re.findall(r'\bfiles\("([\w.]+)"\)', text))
    tops = {name.partition(".")[0] for name in names} - set(sys.stdlib_module_names) - {*PACKAGES, "tests"}
    known = packages_distributions()
    return {plain_name(known[top][0]) if top in known else top for top in tops}


def plain_name(requirement: str) -> str:
    return re.split(r"[<>=!~ \[;]", requirement)[0].lower().replace("_", "-")


def declared(*extras: str) -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lists = [project["dependencies"], *(project["optional-dependencies"][extra] for extra in extras)]
    return {plain_name(text) for texts in lists for text in texts}


def stages_in_table():
    return re.findall(r"^    \w+ +tasks\.(\w+) ", tasks.__doc__ or "", re.MULTILINE)


def test_the_table_of_stages_is_the_folder():
    there = {path.stem for path in (ROOT / "tasks").iterdir()
             if path.name not in ("__init__.py", "__pycache__") and (path.suffix == ".py" or path.is_dir())}
    assert set(stages_in_table()) | SHARED_BY_EFFECTS == there


def test_import_linter_knows_every_stage():
    rules = (ROOT / "pyproject.toml").read_text("utf-8")
    (independent,) = re.findall(r'type = "independence"\nmodules = \[(.*?)\]', rules, re.DOTALL)
    assert sorted(re.findall(r'"tasks\.(\w+)"', independent)) == sorted(stages_in_table())


def test_there_are_no_drawers():
    assert [path for path in modules() if path.stem in DRAWERS or path.parent.name in DRAWERS] == []


def test_what_is_imported_is_declared_and_what_is_declared_is_imported():
    assert imported_by(modules()) == declared()
    assert imported_by(sorted((ROOT / "tests").rglob("*.py"))) - declared("dev") == set()


def test_what_is_declared_has_a_pinned_version():
    pinned = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    assert declared("dev") - {plain_name(line) for line in pinned if "==" in line} == set()


def test_modules_are_short():
    lengths = {str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines()) for path in modules()}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_LINES} == {}


def test_every_module_says_what_belongs_there_and_what_must_not():
    silent = [path for path in modules() if not ast.get_docstring(ast.parse(path.read_text("utf-8")))]
    assert silent == []


def test_what_docstrings_name_is_there():
    """A folder or module between backticks, from the root, its package or its own folder."""
    lost = []
    for path in modules():
        docs = [ast.get_docstring(node) or "" for node in ast.walk(ast.parse(path.read_text("utf-8")))
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)]
        named = NAMED_PLACE.findall("\n".join(docs))
        places = (ROOT, path.parent, *(ROOT / package for package in PACKAGES))
        lost += [f"{path.relative_to(ROOT)}: {name}" for name in named
                 if not any((place / name).exists() or (place / f"{name}.py").exists() for place in places)]
    assert lost == []


def test_flows_are_not_called_like_their_siblings_or_the_standard_library():
    names = {path.stem for path in (ROOT / "flows").glob("*.py")} - {"__init__", "__main__"}
    assert names & (set(PACKAGES) | set(sys.stdlib_module_names)) == set()


def test_a_shard_process_imports_no_prefect_and_no_pandas(tmp_path):
    """The shard starts in about a second, once for every shard; its first act is to read a table."""
    store = Store(str(tmp_path))
    store.write_table("plan.parquet", pa.table({"route": ["/"]}))
    asked = ("import sys, tasks.scan.__main__ as shard; shard.Store(sys.argv[1]).read_table('plan.parquet'); "
             "print([n for n in ('prefect', 'pandas', 'pyarrow.dataset') if n in sys.modules])")
    done = subprocess.run([sys.executable, "-c", asked, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_audit_starts_its_server_before_it_imports_what_takes_time():
    slow = "('prefect', 'pandas', 'pyarrow', 'pydantic', 'jsonschema', 'playwright', 'rich')"
    asked = f"import sys, flows.cli; print([n for n in {slow} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_file_names_this_machine_or_a_registry():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    forbidden = re.compile("|".join((r"/wo" r"rk/", r"/ro" r"ot/", "files.python" "hosted", "pypi" r"\.org")))
    named = [name for name in listed if (ROOT / name).is_file() and (ROOT / name).suffix in
             (".py", ".md", ".toml", ".txt", ".yaml", ".json", "", ".js") and
             forbidden.search((ROOT / name).read_text("utf-8", "replace"))]
    assert named == []
