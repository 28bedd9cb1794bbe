"""The engine's file: what it says of itself, and what is refused before anything starts."""

import hashlib
import json
from pathlib import Path

import pytest

from schemas.errors import ContractError
from schemas.settings import ScanSettings
from tasks.scan.engine import engine_path, engine_source, file_digest, read_engine
from tasks.scan.script import EngineRun


def test_the_installed_engine() -> None:
    build = read_engine(None, (("target-size", True), ("region", False)))
    assert build.version == "4.12.1"
    assert build.digest == file_digest(None) == hashlib.sha256(engine_path(None).read_bytes()).hexdigest()
    assert json.loads(build.options)["rules"] == {
        "frame-tested": {"enabled": True}, "region": {"enabled": False}, "target-size": {"enabled": True}}
    assert build.options_digest == hashlib.sha256(build.options.encode()).hexdigest()
    rules = {info.rule: info for info in build.rules}
    assert len(rules) == 105 and list(rules) == sorted(rules)
    assert (rules["image-alt"].is_on, rules["target-size"].is_on, rules["region"].is_on) == (True, True, False)
    assert not rules["color-contrast-enhanced"].is_on and not rules["css-orientation-lock"].is_on
    assert "wcag2a" in rules["image-alt"].tags and rules["image-alt"].help


def test_options_do_not_depend_on_the_order_of_switches() -> None:
    one, other = (("region", False), ("target-size", True)), (("target-size", True), ("region", False))
    assert read_engine(None, one) == read_engine(None, other)


def test_unknown_rules_are_named_with_the_nearest_all_at_once() -> None:
    with pytest.raises(ContractError) as refused:
        read_engine(None, (("colour-contrast", True), ("imagealt", False), ("frame-tested", False), ("region", True)))
    assert [(offence.subject, offence.remedy.partition(" or ")[0]) for offence in refused.value.offences] == [
        ("rule colour-contrast", "Did you mean `color-contrast`"),
        ("rule frame-tested", "Without it, a frame that nobody tested would look clean."),
        ("rule imagealt", "Did you mean `image-alt`")]


NO_ENGINES = ("", "not a script {", "module.exports = {}", "throw new Error('no')", "process.exit(0)")


@pytest.mark.parametrize("text", NO_ENGINES)
def test_a_file_that_is_no_engine(tmp_path: Path, text: str) -> None:
    file = tmp_path / "axe.js"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ContractError, match="is no rule engine"):
        read_engine(str(file), ())


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for ask in (engine_source, file_digest, lambda path: read_engine(path, ())):
        with pytest.raises(ContractError, match="can't be read"):
            ask(str(tmp_path / "none.js"))


def test_another_build_by_path(tmp_path: Path) -> None:
    file = tmp_path / "axe.js"
    file.write_text(engine_source(None).replace("4.12.1", "4.99.0"), encoding="utf-8")
    build = read_engine(str(file), ())
    assert (build.version, build.digest) == ("4.99.0", file_digest(str(file)))


def test_the_script_of_a_run() -> None:
    run = EngineRun.prepare("ENGINE", '{"rules":{}}', ScanSettings(evidence="none"))
    assert run.source.index("queueMicrotask") < run.source.index("ENGINE") < run.source.index("fanfoldPath")
    assert json.loads(run.limits)["html"] == 0 and json.loads(run.limits)["isMasked"] is True
    assert run.call("start", 3, None) == f'fanfold.start(3, null, {{"rules":{{}}}}, {run.limits})'
