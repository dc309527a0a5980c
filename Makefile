# `make demo` and `make test` set up by themselves; `make help` lists the rest.
# Standard output belongs to what is run: the set-up talks on standard error.

VENV := .venv/bin
PYTEST_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint bench soak lock lock-jvm clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

setup: ## make .venv from requirements.lock and fetch the JVM parts (PYTHON=… for another Python)
	@PYTHON="$(PYTHON)" sh deploy/setup/setup.sh

demo: setup ## watch a network started on this machine (SECONDS=N ends it, FAULT=1 breaks a router)
	@$(VENV)/inflight demo $(if $(SECONDS),--seconds $(SECONDS)) $(if $(filter-out 0,$(FAULT)),--fault)

test: setup lint ## lint, types and all tests (PYTEST_ARGS="-k name")
	@$(VENV)/python -m pytest $(PYTEST_ARGS)

lint: setup ## ruff and mypy
	@$(VENV)/ruff check .
	@$(VENV)/ruff format --check .
	@$(VENV)/mypy

bench: setup ## run the benchmarks of tests/bench (NAME=x runs tests/bench/x.py)
	@for bench in $(if $(NAME),tests/bench/$(NAME).py,$(sort $(wildcard tests/bench/[!_]*.py))); do \
		echo "== $$bench" >&2; $(VENV)/python "$$bench" || exit 1; done

soak: setup ## break everything for MINUTES=15, then hold every message against rows and counters
	@$(VENV)/python tests/soak/soak.py --minutes $(or $(MINUTES),15)

lock: setup ## renew requirements.lock after a change in pyproject.toml (UPGRADE=1: to the newest versions)
	@$(VENV)/python -m pip install -q uv
	@$(VENV)/uv pip compile --quiet --universal --generate-hashes --extra dev $(if $(UPGRADE),--upgrade) \
		--custom-compile-command "make lock" -o requirements.lock pyproject.toml

lock-jvm: setup ## renew deploy/jvm/jvm.lock after a change in deploy/jvm/ivy.xml
	@$(VENV)/python -m deploy.jvm.artifacts --lock

clean: ## remove what runs and tools left: .inflight and caches; .venv and the fetched jars stay
	@rm -rf .inflight .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist *.egg-info
	@find collectors streaming dashboards deploy tests -name __pycache__ -type d -prune -exec rm -rf {} +
