# `make demo` and `make test` set up by themselves, each what it needs; `make help` lists the rest.
# Standard output belongs to what is run: the set-up talks on standard error.

VENV := .venv/bin
PYTEST_ARGS ?=
# Half of what tests do is to wait. A process takes a file at a time, and has a Kafka and an Artemis of its own.
JOBS ?= 2

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev demo test unit lint bench soak lock lock-jvm clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

setup: ## make .venv from deploy/setup/requirements.lock and fetch the JVM parts (PYTHON=… for another Python)
	@PYTHON="$(PYTHON)" sh deploy/setup/setup.sh

setup-dev: ## the same, and the tools of requirements-dev.lock for tests, lint and benchmarks
	@PYTHON="$(PYTHON)" sh deploy/setup/setup.sh --dev

demo: setup ## watch a network started on this machine (SECONDS=N ends it, FAULT=1 breaks a router, FAULT=flood or other: see --help)
	@$(VENV)/inflight demo $(if $(SECONDS),--seconds $(SECONDS)) $(if $(filter-out 0,$(FAULT)),--fault $(filter-out 1,$(FAULT)))

test: setup-dev lint ## lint, types and all tests, in JOBS=2 processes (PYTEST_ARGS="-k name")
	@$(VENV)/python -m pytest -n $(JOBS) --dist loadfile $(PYTEST_ARGS)

unit: setup-dev ## the tests that need no server, in a minute or two (PYTEST_ARGS="-k name")
	@$(VENV)/python -m pytest -m "not e2e and not slow" $(PYTEST_ARGS)

lint: setup-dev ## ruff and mypy
	@$(VENV)/ruff check .
	@$(VENV)/ruff format --check .
	@$(VENV)/mypy

bench: setup-dev ## run the benchmarks of tests/bench (NAME=x runs tests/bench/x.py)
	@for bench in $(if $(NAME),tests/bench/$(NAME).py,$(sort $(wildcard tests/bench/[!_]*.py))); do \
		echo "== $$bench" >&2; $(VENV)/python "$$bench" || exit 1; done

soak: setup-dev ## break everything for MINUTES=15, then hold every message against rows and counters
	@$(VENV)/python tests/soak/soak.py --minutes $(or $(MINUTES),15)

LOCKS := deploy/setup
COMPILE := $(VENV)/uv pip compile --quiet --universal --generate-hashes --custom-compile-command "make lock" \
	$(if $(UPGRADE),--upgrade)
lock: setup ## renew the lock files of deploy/setup after a change in pyproject.toml (UPGRADE=1: to the newest versions)
	@$(VENV)/python -m pip install -q uv
	@$(COMPILE) --group build -o $(LOCKS)/requirements.lock pyproject.toml
	@$(COMPILE) --group dev -c $(LOCKS)/requirements.lock -o $(LOCKS)/requirements-dev.lock

lock-jvm: ## renew deploy/jvm/jvm.lock after a change in deploy/jvm/ivy.xml
	@$(VENV)/python -m deploy.jvm.artifacts --lock

clean: ## remove what runs and tools left: .inflight and caches; .venv and the fetched jars stay
	@rm -rf .inflight .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist *.egg-info
	@find collectors streaming dashboards deploy tests -name __pycache__ -type d -prune -exec rm -rf {} +
