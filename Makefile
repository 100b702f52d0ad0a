# make demo         play right away                       make demo ARGS="--once --speed 50 --json"
# make check        lint, types, and the quick tests      under a minute; starts no server and no browser
# make test         all tests                             make test ARGS="-k deal"
# make compiled     tests with the compiled modules     make compiled ARGS=tests/protocol
# make coverage     all tests, with what they do not run  the library must be at 100 %, the rest at 95 %
# make lint         formatting, ruff and mypy           also the page's JavaScript: oxlint, and tsc if npm is installed
# make format       fix the formatting
# make generate     rewrite the generated files         review the diff
# make fuzz         a million inputs for every decoder    make fuzz FUZZ_INPUTS=100000 FUZZ_SEED=2
# make torture      fault injection: servers and store    make torture ARGS="--seed 7 --minutes 60 --keep-going"
#                                                         make torture ARGS=--long
# make simulate     thousands of short histories          make simulate ARGS="--seed 7 --histories 100000"
# make agree        compare the JavaScript verifier      make agree PLAYS=500 REPLAYS=500 DEALS=10
# make weakened     remove one defence at a time          make weakened ARGS="fence tail"
# make conformance  the Autobahn WebSocket suite against the server; also needs Python 2.7
# make bench        benchmarks, next to a plain echo      make bench ARGS="moves --quick --games corners"
# make clean        remove everything that was generated
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
TYPESCRIPT := 7.0.2
BIN := .venv/bin
# More workers than cores, because many tests wait. The tests of a file share its servers, and conftest.py orders them.
DISTRIBUTED := -n 3 --dist loadfile --no-loadscope-reorder
# Tests start Python hundreds of times: it should not compile every module each time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo check test compiled coverage torture simulate agree weakened conformance fuzz bench lint types format generate clean

demo: .venv/has-all
	$(BIN)/samedeal demo $(ARGS)

test: .venv/has-all,dev
	$(BIN)/pytest $(DISTRIBUTED) $(ARGS)

# The compiled wheel is installed into a folder of its own: the editable install is not compiled, to follow its sources.
compiled: .venv/has-all,dev
	rm -rf .venv/compiled
	HATCH_BUILD_HOOKS_ENABLE=1 $(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--no-build-isolation --no-deps --target .venv/compiled .
	PYTHONPATH=$(CURDIR)/.venv/compiled $(BIN)/pytest $(DISTRIBUTED) $(ARGS)

# The library's tests are measured alone: its other users must not hide a gap.
coverage: .venv/has-all,dev
	rm -f .coverage*
	COVERAGE_FILE=.coverage-library $(BIN)/coverage run -m pytest -n 2 tests/protocol
	COVERAGE_FILE=.coverage-library $(BIN)/coverage combine --quiet
	COVERAGE_FILE=.coverage-rest $(BIN)/coverage run -m pytest $(DISTRIBUTED) --ignore tests/protocol $(ARGS)
	COVERAGE_FILE=.coverage-rest $(BIN)/coverage combine --quiet
	COVERAGE_FILE=.coverage-library $(BIN)/coverage report --include 'protocol/*' --fail-under 100
	COVERAGE_FILE=.coverage-rest $(BIN)/coverage report --include 'server/*' --fail-under 95
	COVERAGE_FILE=.coverage-rest $(BIN)/coverage report --include 'clients/*' --fail-under 95

check: lint
	$(BIN)/pytest -n 2 --quick $(ARGS)

torture: .venv/has-all,dev
	PYTHONPATH=tests $(BIN)/python -m support.torture $(ARGS)

conformance: .venv/has-all,dev
	PYTHONPATH=tests $(BIN)/python -m support.autobahn
	$(BIN)/pytest -s tests/system/test_autobahn.py

simulate: .venv/has-all,dev
	PYTHONPATH=tests $(BIN)/python -m support.simulation $(ARGS)

agree: .venv/has-all,dev
	PYTHONPATH=tests $(BIN)/python -m support.agreement_of_plays --plays $(PLAYS)
	PYTHONPATH=tests $(BIN)/python -m support.agreement_of_replays --replays $(REPLAYS)
	PYTHONPATH=tests $(BIN)/python -m support.agreement_of_filters --deals $(DEALS)

weakened: .venv/has-all,dev
	PYTHONPATH=tests $(BIN)/python -m support.weakened $(ARGS)

fuzz: .venv/has-all,dev
	FUZZ_INPUTS=$(FUZZ_INPUTS) FUZZ_SEED=$(FUZZ_SEED) FUZZ_EXAMPLES=$(FUZZ_EXAMPLES) \
		$(BIN)/pytest -s --timeout 0 tests/faults/test_fuzz.py tests/server/test_documents.py tests/server/test_openapi.py

bench: .venv/has-server,fast,bench
	$(BIN)/python -m bench $(ARGS)

lint: .venv/has-all,dev
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/oxlint --quiet
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory types; else \
		echo 'Not checked: the types of the JavaScript. This needs Node.js with npm.' >&2; test -z "$$CI"; fi

types: .venv/typescript-$(TYPESCRIPT)
	.venv/node_modules/.bin/tsc

.venv/typescript-%: | $(BIN)/python
	npm install --prefix .venv --no-save --no-audit --no-fund --loglevel error typescript@$*
	@touch '$@'

format: .venv/has-all,dev
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

generate: .venv/has-all,dev
	@for file in cli/test_cli_docs cli/test_cli_screens cli/test_cli_text_table \
			project/test_architecture protocol/test_replay_format web/test_web_files; do \
		PYTHONPATH=tests $(BIN)/python tests/$$file.py || exit 1; \
	done
	$(BIN)/python tests/protocol/test_playthroughs.py --write

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis dist

# Installs extras of pyproject.toml, such as .venv/has-all,dev
.venv/has-%: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$*]'
	@touch '$@'

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'Same Deal needs Python 3.11 or newer. Name one: make PYTHON=python3.12 ...' >&2; exit 1; }
	$(PYTHON) -m venv .venv
