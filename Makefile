# Every target makes the virtual environment it needs. Two commands matter: make demo, make test.
# While you edit: make quick.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
PYTHON ?= python3
PLAN ?= full
VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
JOBS ?= 2
# Tests wait for timers and for other processes: a third worker on two cores takes that time.
WORKERS ?= 3
CAPTURES ?= $(wildcard ../shared/captures)
SOAK := $(PY) -m pytest -q --seed new
SKIPPED := grep -rlE --include '*.py' 'volume (== 1|< 2)' tests | sed 's,/conftest.py,,' | sort
COVERAGE := $(addprefix tests/integration/test_,packet_nic.py predicted_scores.py wire_nic.py grant_nic.py whole_core.py)

export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
# Images of containers often set it. Then each Python that tests start compiles all it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo lab lab-soak test kernels quick smoke docs soak coverage bench fabric faults study synth boards formal mutate lint clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 10

# constraints.txt pins what was tested; torch must be exactly the version that PyPI serves for CPU.
$(STAMP): pyproject.toml constraints.txt
	@test -x $(PY) || { echo "Making the virtual environment in $(VENV) ..."; $(PYTHON) -m venv $(VENV); }
	@echo "Installing Precog and its tools (a few minutes the first time) ..."
	@$(PY) -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25"
	@$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(STAMP) ## the main job: learn, quantize, load, let the RTL steer a network, report
	$(PY) -m precog_sim.demo --plan $(PLAN) --out build/demo

lab: $(STAMP) ## Linux guests do RDMA through golden devices (RTL=1: through Verilated ones); fetches Debian packages
	$(VENV)/bin/precog lab $(if $(RTL),--rtl)

# Two hours by default: MINUTES=10 for a short one.
lab-soak: $(STAMP) ## the lab's verbs again and again with loss, reordering and marks; every counter explained
	@mkdir -p build
	$(VENV)/bin/precog lab --soak $(or $(MINUTES),120) --loss 0.005 --reorder 0.005 --ce 0.02 -j > build/lab-soak.json

# mypy has one core; on the other, what all workers of pytest would compile at the same time.
test: $(STAMP) ## lint, types and every test
	@$(MAKE) --no-print-directory -j 2 lint kernels
	$(PY) -m pytest -n $(WORKERS) --dist loadgroup -q $(if $(CAPTURES),--captures=$(CAPTURES))

kernels: $(STAMP)
	@$(PY) -c "import precog_models.nic_queues, precog_models.rate.receiver_block"

quick: $(STAMP) ## lint, types and a smoke test of each block, in 90 seconds
	@$(MAKE) --no-print-directory -j 2 lint smoke

smoke: $(STAMP)
	$(PY) -m tests.quick -q

docs: $(STAMP) ## the documents as a site, build/docs/index.html
	$(PY) -m sphinx -q -W --keep-going -b html docs build/docs

# Seeds are new each time. SKIPPED: what `make test` leaves out for its length. CAPTURES=folder: also replay the captures that are there.
soak: $(STAMP) ## RTL = golden: millions of vectors at three lane counts, packets at five widths, laws, pacer, two NICs; agents under faults
	$(PY) -m precog_sim.rtl.exactness --out build/soak/exactness.json
	$(SOAK) tests/models/packet/test_fuzz.py tests/integration/test_card.py \
	    tests/integration/test_packet_nic.py tests/integration/test_predicted_scores.py tests/sim/replay tests/hw/test_export.py --volume 170 \
	    $(if $(CAPTURES),--captures=$(CAPTURES)) --junit-xml build/soak/packets.xml
	$(SOAK) tests/hw/rate/test_law_unit.py --volume 50 --junit-xml build/soak/laws.xml
	$(SOAK) tests/sim/rtl/test_law_tutorial.py --volume 100 --junit-xml build/soak/law_tutorial.xml
	$(SOAK) tests/sim/rtl/test_law_engine.py --volume 10 --junit-xml build/soak/law_engine.xml
	$(SOAK) tests/hw/rate/engine/test_core.py -k many_random --volume 2223 --junit-xml build/soak/law_programs.xml
	$(SOAK) tests/hw/rate/engine/test_stage.py -k throughput --volume 2 --junit-xml build/soak/law_throughput.xml
	$(SOAK) tests/hw/rate/engine/test_volume.py --volume 20 --junit-xml build/soak/law_volume.xml
	$(SOAK) tests/hw/bridge --volume 30 --junit-xml build/soak/bridges.xml
	$(SOAK) tests/hw/mac tests/hw/boards tests/integration/test_node.py --volume 10 --junit-xml build/soak/mac.xml
	$(SOAK) tests/hw/pace --volume 10 --junit-xml build/soak/pacer.xml
	$(SOAK) tests/hw/measure/test_profiler.py --volume 100 --junit-xml build/soak/profiler.xml
	$(SOAK) tests/hw/predict/test_forecast_blocks.py tests/hw/predict/test_tree.py --volume 20 --junit-xml build/soak/forecast.xml
	$(SOAK) tests/hw/csr/test_register_suite.py tests/sw/test_register_suite.py --volume 10 --junit-xml build/soak/registers.xml
	$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[ray]'
	$(SOAK) -n $(JOBS) --dist loadgroup $$($(SKIPPED)) --volume 2 --junit-xml build/soak/skipped.xml
	$(PY) -m tests.fleet.campaign --runs 200 --workers $(JOBS) --out build/soak/faults.json
	$(PY) -m precog_fleet demo --seed $$RANDOM -o build/soak/fleet-demo.json
	$(PY) -m precog_sim.backtoback --packets 100000 --out build/soak/backtoback.json
	$(PY) -m precog_sim.backtoback.instant --runs 1000 --seed $$RANDOM --out build/soak/instant.json
	$(SOAK) tests/integration/test_back_to_back.py \
	    tests/integration/test_back_to_back_cocotb.py --volume 20 --junit-xml build/soak/two.xml

# Of the NIC with all of its options: three configurations, because some exclude each other, and their core.
coverage: $(STAMP) ## which lines of the NIC's Verilog its tests run, per module
	rm -rf build/coverage && mkdir -p build/coverage/counts
	PRECOG_COVERAGE=$(CURDIR)/build/coverage/counts $(PY) -m pytest -n $(JOBS) --dist loadgroup -q $(COVERAGE)
	$(PY) -m precog_sim.coverage build/coverage/counts --out build/coverage

bench: $(STAMP) ## simulator and RTL-in-the-loop speed, as ratios against a baseline of the same run
	$(PY) -m precog_sim.bench --out build/bench

fabric: $(STAMP) ## the simulator's 320-host fat tree against ns-3's figures
	$(PY) -m precog_sim.fabric --out docs/evidence/data --page docs/evidence/fabric.md

faults: $(STAMP) ## a fleet under faults at random: 200 runs
	$(PY) -m tests.fleet.campaign --runs 200 --workers $(JOBS) --seed 1 --out build/soak/faults.json --page docs/evidence/faults.md

# STUDY: figure20, laws, hints, rivals, sharing, prediction, fabric-speed, fleet-scale, scale, fairness. ARGS: options, precog study STUDY --help says which.
study: $(STAMP) ## a study (STUDY=figure20 ...), its figures and its page in docs/evidence
	$(VENV)/bin/precog study $(STUDY) --out docs/evidence/data --page docs/evidence/$(subst -,_,$(STUDY)).md $(ARGS)

synth: $(STAMP) ## place and route on LFE5UM5G-85F-8: core at three lane counts, cps-tx at two widths
	$(PY) -m precog_sim.synth --out build/synth

boards: $(STAMP) ## a bitstream for each board
	$(PY) -m precog_sim.synth.boards --out build/synth

formal: $(STAMP) ## every proof, and the mutants that must fail
	$(PY) -m precog_sim.formal --out build/formal

# Another SEED makes other mistakes; COUNT of them in each block.
mutate: $(STAMP) ## mistakes made at random in central blocks, which tests or proofs must notice
	$(PY) -m precog_sim.mutation --seed $(or $(SEED),1) --count $(or $(COUNT),8) --out build/mutation

lint: $(STAMP) ## ruff and mypy --strict
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

clean: ## remove what was built (not the virtual environment)
	rm -rf build .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find hw models sw sim tests -name __pycache__ -type d -prune -exec rm -rf {} +
