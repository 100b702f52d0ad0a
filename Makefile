# make demo         play right away                       make demo ARGS="--lan"
# make test         tier 1: what convinces, in 2 minutes  make test ARGS="-k deal"
# make test-more    tier 2: what else changes can break   make test-more ARGS=tests/server
# make test-all     all tiers and campaigns, in parts     make test-all PART="torture fuzz"
# make lint         formatting, ruff, layers and mypy   also the page's JavaScript: oxlint, and tsc if npm is installed
# make format       fix the formatting
# make generate     rewrite the generated files         review the diff
# make bench        benchmarks, next to a plain echo      make bench ARGS="moves --quick --games corners"
# make clean        remove everything that was generated
#
# The parts of make test-all, each also a target of its own:
# make coverage-library                                 its tests, with what they do not run: must be 100 %
# make coverage-rest                                    the other tests: server and clients must be at 95 %
# make pythons      tier 1 with other Pythons             make pythons PYTHONS="python3.12 python3.13"
# make torture      fault injection: servers and store    make torture ARGS="--seed 7 --minutes 60 --keep-going"
# make simulate     thousands of short histories          make simulate HISTORIES=100000 SEED=7
# make weakened     remove one defence at a time          make weakened ARGS="fence tail"
# make fuzz         a million inputs for decoders         make fuzz FUZZ_INPUTS=100000 FUZZ_SEED=2
# make agree        compare the JavaScript verifier       make agree PLAYS=500 REPLAYS=500 DEALS=10
#
# Needs Python 3.11 or newer with venv and pip. Everything else is installed into .venv.

PYTHON ?= python3
ARGS ?=
FUZZ_INPUTS ?= 1000000
FUZZ_SEED ?= 1
FUZZ_EXAMPLES ?= 100
PLAYS ?= 10000
REPLAYS ?= 5000
DEALS ?= 100
RACES ?= 2000
CHALLENGES ?= 1000
HISTORIES ?= 2000
SEED ?= $(shell date +%s)
TYPESCRIPT := 7.0.2
VENV ?= .venv
BIN := $(VENV)/bin
# More workers than two cores, because many tests wait.
DISTRIBUTED := -n 6 --dist worksteal
ALL := test test-more tier-3 coverage-library coverage-rest pythons torture simulate weakened fuzz agree
PART ?= $(ALL)
PYTHONS ?= python3.12 python3.13 python3.14
# Tests start Python hundreds of times: it should not compile every module each time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-more test-all tier-3 coverage coverage-library coverage-rest pythons torture simulate agree \
	weakened fuzz bench lint types format generate clean

demo: $(VENV)/has-all
	$(BIN)/samedeal demo $(ARGS)

test: $(VENV)/has-all,test
	@echo 'Tier 1 of the tests takes two to five minutes; `make test-more` runs the next one.'
	$(BIN)/pytest --tier 1 $(DISTRIBUTED) $(ARGS)

test-more: $(VENV)/has-all,dev
	$(BIN)/pytest --tier 2 $(DISTRIBUTED) $(ARGS)

tier-3: $(VENV)/has-all,dev
	$(BIN)/pytest --tier 3 $(DISTRIBUTED) $(ARGS)

# Every part runs, whatever the others' results are.
test-all:
	@failed=; for part in $(PART); do \
		began=$$(date +%s); \
		if $(MAKE) --no-print-directory $$part; then verdict=passed; else verdict=FAILED; failed="$$failed $$part"; fi; \
		echo "$$part: $$verdict in $$(( $$(date +%s) - began )) s"; \
	done; test -z "$$failed" || { echo "Failed:$$failed" >&2; exit 1; }

# Other versions of Python have environments of their own. Those that are not installed are named.
pythons:
	@for python in $(PYTHONS); do \
		if $$python --version >/dev/null 2>&1; then \
			$(MAKE) --no-print-directory test VENV=.venv/$$(basename $$python) PYTHON=$$python || exit 1; \
		else echo "Left out: $$python is not installed." >&2; fi; \
	done

coverage: coverage-library coverage-rest

# The library's tests are measured alone: its other users must not hide a gap.
coverage-library: $(VENV)/has-all,dev
	rm -f .coverage-library*
	# Only what is reported is measured: otherwise par and analyses take minutes.
	COVERAGE_FILE=.coverage-library $(BIN)/coverage run --source samedeal -m pytest -n 2 --timeout 300 tests/protocol
	COVERAGE_FILE=.coverage-library $(BIN)/coverage combine --quiet
	COVERAGE_FILE=.coverage-library $(BIN)/coverage report --include 'protocol/*' --fail-under 100

coverage-rest: $(VENV)/has-all,dev
	rm -f .coverage-rest*
	# All at the lowest priority: jobs of the servers, which have it, would starve beside measured tests.
	# Their computations are measured, too, and take several times as long.
	COVERAGE_FILE=.coverage-rest TEST_LIMIT_S=250 nice -n 19 $(BIN)/coverage run --source samedeal_server,samedeal_cli \
		-m pytest -n 3 --dist worksteal --timeout 900 --ignore tests/protocol $(ARGS)
	COVERAGE_FILE=.coverage-rest $(BIN)/coverage combine --quiet
	COVERAGE_FILE=.coverage-rest $(BIN)/coverage report --include 'server/*' --fail-under 95
	COVERAGE_FILE=.coverage-rest $(BIN)/coverage report --include 'clients/*' --fail-under 95

torture: $(VENV)/has-all,dev
	PYTHONPATH=tests $(BIN)/python -m support.torture $(ARGS)

simulate: $(VENV)/has-all,dev
	SIMULATION_HISTORIES=$(HISTORIES) SIMULATION_SEED=$(SEED) \
		$(BIN)/pytest --timeout 0 tests/faults/test_simulation.py -k no_acknowledged_move $(ARGS)

agree: $(VENV)/has-all,dev
	AGREE_PLAYS=$(PLAYS) AGREE_REPLAYS=$(REPLAYS) AGREE_DEALS=$(DEALS) AGREE_RACES=$(RACES) \
		AGREE_CHALLENGES=$(CHALLENGES) \
		$(BIN)/pytest -n 2 --timeout 0 tests/protocol/test_verifiers_agree_on_*.py $(ARGS)

weakened: $(VENV)/has-all,dev
	PYTHONPATH=tests $(BIN)/python -m support.weakened $(ARGS)

fuzz: $(VENV)/has-all,dev
	FUZZ_INPUTS=$(FUZZ_INPUTS) FUZZ_SEED=$(FUZZ_SEED) FUZZ_EXAMPLES=$(FUZZ_EXAMPLES) \
		$(BIN)/pytest -s --timeout 0 tests/faults/test_fuzz.py tests/server/test_documents.py \
		tests/server/test_openapi.py tests/cli/test_cli_all_orders.py tests/web/test_web_all_orders.py

bench: $(VENV)/has-server,store,fast,bench
	$(BIN)/python -m bench $(ARGS)

lint: $(VENV)/has-all,dev
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/oxlint --quiet
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory types; else \
		echo 'Not checked: the types of the JavaScript. This needs Node.js with npm.' >&2; test -z "$$CI"; fi

types: .venv/typescript-$(TYPESCRIPT)
	.venv/node_modules/.bin/tsc

.venv/typescript-%: | $(BIN)/python
	npm install --prefix .venv --no-save --no-audit --no-fund --loglevel error typescript@$*
	@touch '$@'

format: $(VENV)/has-all,dev
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

generate: $(VENV)/has-all,dev
	$(BIN)/python -m tools.generated_files
	PYTHONPATH=tests $(BIN)/python tests/cli/test_cli_screens.py
	PYTHONPATH=tests $(BIN)/python tests/cli/test_cli_text_table.py
	PYTHONPATH=tests $(BIN)/python tests/protocol/test_playthroughs.py --write

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis dist

# Installs extras of pyproject.toml, such as .venv/has-all,dev
$(VENV)/has-%: pyproject.toml build_version.py constraints.txt | $(BIN)/python
	@echo 'Installing Same Deal with [$*] into $(VENV). This takes half a minute, once.'
	$(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e '.[$*]'
	@touch '$@'

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'Same Deal needs Python 3.11 or newer. Name one: make PYTHON=python3.12 ...' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
