# Two commands for everybody: `make audit` and `make test`. Both do all the set-up; a second start repeats nothing.
PYTHON ?= python3
BIN := .venv/bin
SOURCE ?= sample
PAGES ?= data/sample/pages
COUNT ?= 60
WORKERS ?= 2
READY := .venv/.ready
FULL := .venv/.full-browser

.PHONY: audit test setup check benchmarks agreement scale clean

audit: $(READY)
	@$(BIN)/fanfold audit "$(SOURCE)" $(ARGS); code=$$?; \
	if [ "$(SOURCE)" != sample ]; then exit $$code; fi; \
	if [ $$code -eq 1 ]; then echo "Blocked is the expected end here: the sample has critical faults on purpose."; exit 0; fi; \
	echo "The sample was expected to end Blocked (exit code 1), it ended with $$code."; exit $$(( code > 0 ? code : 2 ))

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	$(BIN)/python -m flows.install_browser
	$(BIN)/python -m flows.server
	@touch $(READY)

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

$(FULL): $(READY)
	$(BIN)/python -m flows.install_browser --full
	@touch $(FULL)

test: check $(FULL)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --no-loadscope-reorder

benchmarks: $(READY)
	$(BIN)/python -m tests.benchmarks.compare $(PAGES) --count $(COUNT)

agreement: $(READY)
	$(BIN)/python -m tests.benchmarks.agreement $(PAGES) --count $(COUNT)

scale: $(READY)
	$(BIN)/python tests/benchmarks/scale.py $(ROUTES)

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis data/store
