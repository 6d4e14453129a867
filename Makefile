# Two commands do all the set-up on a fresh machine: `make demo` and `make test`.
# Both need Python 3.11 or later and make; a virtual environment is made in .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
DEMO := demo
JOBS ?= 2

.PHONY: demo test lint coverage mutate bench bench-large fuzz gpu-test verify-suite docs release-check clean

demo: $(VENV)/.stamp-base
	$(BIN)/kbstats demo -o $(DEMO)

test: $(VENV)/.stamp-dev
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile

lint: $(VENV)/.stamp-dev
	$(BIN)/ruff check .
	$(BIN)/python benchmarks/typecheck.py
	$(BIN)/sqlfluff lint --disable-progress-bar sql
	$(BIN)/python benchmarks/deadcode.py

# Branches of what decides a number; pyproject.toml names the modules and the least share.
coverage: $(VENV)/.stamp-dev
	$(BIN)/python -m coverage run -m pytest -q tests/analytics tests/ingest/test_units.py tests/ingest/test_popcornbench.py tests/ingest/test_table.py tests/verify/test_verdict.py
	$(BIN)/python -m coverage report

# The same files broken one token at a time, SQL too: a change that no test notices is printed. `--only PART` takes some files.
mutate: $(VENV)/.stamp-dev
	$(BIN)/python benchmarks/mutate.py --json benchmarks/results/mutation.json

# Ratios against named baselines in the same run; nothing here is a test.
bench: $(VENV)/.stamp-dev
	$(BIN)/python benchmarks/bench.py

# The same for a warehouse of 100,000 runs and for the site: minutes.
bench-large: $(VENV)/.stamp-dev
	$(BIN)/python benchmarks/analytics_bench.py
	$(BIN)/python benchmarks/site_bench.py

# Adversaries and honest kernels, repeated; the interval of the reference against itself. Goes on where it ended;
# PART=i/n runs a share, PARTS=same,twice some kinds.
verify-suite: $(VENV)/.stamp-dev
	$(BIN)/python benchmarks/verify_suite.py --part $(or $(PART),1/1) $(if $(PARTS),--parts $(PARTS)) \
	  --json benchmarks/results/verify-suite-cpu.json --resume benchmarks/results/verify-suite-cpu.json

# The long ones: ten thousand mutated files a format, 100,000 files, a file of 1 GB.
fuzz: $(VENV)/.stamp-dev
	KBSTATS_FUZZ=10000 KBSTATS_SLOW=1 $(BIN)/python -m pytest tests/ingest/test_fuzz.py tests/ingest/test_nothing_lost.py -n $(JOBS) --timeout 7200

# On a machine with a CUDA device, torch and pytest; needs no network and none of kbstats' other packages.
gpu-test:
	$(PYTHON) benchmarks/gpu_test.py

# Reference pages from the code, what the documents' commands print, and the site of the documentation in build/docs.
docs: $(VENV)/.stamp-dev
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/console.py
	$(BIN)/zensical build --strict --clean

# Wheel and sdist of the last commit, installed where nothing else is: CHECK_PYTHONS="python3.12 python3.13" for others.
release-check: $(VENV)/.stamp-dev
	$(PIP) -e '.[release]'
	$(BIN)/python benchmarks/release_check.py $(addprefix --python ,$(CHECK_PYTHONS))

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("kbstats needs Python 3.11 or later, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.stamp-base: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e .
	touch $@

$(VENV)/.stamp-dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e '.[dev,docs,verify,slurm]'
	touch $@ $(VENV)/.stamp-base

clean:
	rm -rf $(VENV) $(DEMO) build dist typecheck *.egg-info
