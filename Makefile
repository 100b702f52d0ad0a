# make demo    play at once                               make demo ARGS="--once --speed 50 --json"
# make test    all tests                                   make test ARGS="-k deal"
# make fuzz    a million inputs for whatever reads bytes   make fuzz FUZZ_INPUTS=100000 FUZZ_SEED=2
# make torture whatever can befall servers and a store    make torture ARGS="--seed 7 --minutes 60 --keep-going"
#                                                         make torture ARGS=--long
# make conformance         the WebSocket suite of Autobahn against our connections; needs a Python 2.7 besides
# make simulate            thousands of short histories    make simulate ARGS="--seed 7 --histories 100000"
# make weakened            one defence at a time taken out make weakened ARGS="fence tail"
# make lint    formatting, lint and types                  make format   put the formatting right
# make bench   what it carries, against a plain echo       make bench ARGS="moves --quick --games corners"
# make clean   remove everything that was made
#
# Needs Python 3.11 or newer with venv and pip, and nothing else.

PYTHON ?= python3
ARGS ?=
FUZZ_INPUTS ?= 1000000
FUZZ_SEED ?= 1
FUZZ_EXAMPLES ?= 100
BIN := .venv/bin

.PHONY: demo test torture simulate weakened conformance fuzz bench lint format clean

demo: .venv/has-server,tui,fast
	$(BIN)/samedeal demo $(ARGS)

test: .venv/has-server,tui,fast,dev
	$(BIN)/pytest -n 2 --dist loadgroup $(ARGS)

torture: .venv/has-server,tui,fast,dev
	PYTHONPATH=tests $(BIN)/python -m support.torture $(ARGS)

conformance: .venv/has-server,tui,fast,dev
	PYTHONPATH=tests $(BIN)/python -m support.autobahn
	$(BIN)/pytest -s tests/system/test_autobahn.py

simulate: .venv/has-server,tui,fast,dev
	PYTHONPATH=tests $(BIN)/python -m support.simulation $(ARGS)

weakened: .venv/has-server,tui,fast,dev
	PYTHONPATH=tests $(BIN)/python -m support.weakened $(ARGS)

fuzz: .venv/has-server,tui,fast,dev
	FUZZ_INPUTS=$(FUZZ_INPUTS) FUZZ_SEED=$(FUZZ_SEED) FUZZ_EXAMPLES=$(FUZZ_EXAMPLES) \
		$(BIN)/pytest -s --timeout 0 tests/faults/test_fuzz.py tests/server/test_documents.py tests/server/test_openapi.py

bench: .venv/has-server,fast,bench
	$(BIN)/python -m bench $(ARGS)

lint: .venv/has-server,tui,fast,dev
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy

format: .venv/has-server,tui,fast,dev
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis dist

# The extras of pyproject.toml that are installed, such as .venv/has-server,tui,fast
.venv/has-%: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$*]'
	@touch '$@'

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'Same Deal needs Python 3.11 or newer. Name one: make PYTHON=python3.12 ...' >&2; exit 1; }
	$(PYTHON) -m venv .venv
