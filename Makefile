# The environment lives in .venv and is what the lock files say; `make help` lists the targets.

PYTHON ?= python3
VENV := .venv
# A uv that runs on the PATH, else the one that the core lock puts into the environment.
UV := $(shell uv --version >/dev/null 2>&1 && echo uv || echo $(VENV)/bin/uv)

CORE_LOCK := requirements.lock
CORE_STAMP := $(VENV)/.core-installed
SETUP_STAMP := $(VENV)/.setup-done
# Extras are remembered: `make test` after `make setup EXTRAS=pdf` keeps them, `make setup EXTRAS=` drops them.
RECORDED_EXTRAS := $(shell cat $(SETUP_STAMP) 2>/dev/null)
EXTRAS ?= $(RECORDED_EXTRAS)
SETUP_LOCKS := $(CORE_LOCK) $(patsubst %,requirements/%.lock,$(sort dev $(EXTRAS)))
LOCKED_EXTRAS := $(basename $(notdir $(wildcard requirements/*.lock)))
COMPILE := pip compile pyproject.toml --quiet --universal --generate-hashes --no-header --no-annotate --no-emit-index-url

# Loaded once after installing, so that what programs import is compiled: where PYTHONDONTWRITEBYTECODE is set, as in
# many containers, each start would compile it all again and take several times as long.
LOADED := worker, deer.cli.app, deer.cli.research, deer.cli.runs, deer.cli.serving, deer.devserver, temporalio.worker, \
	workflows.research, activities.runs, deer.providers.openai_model, deer.providers.engines.fallback, \
	deer.providers.engines.tavily, deer.providers.pages, deer.providers.extraction.__main__, \
	deer.providers.relevance, deer.providers.extractive
# What cannot be loaded is told by the program that needs it.
COMPILE_LOADED = PYTHONDONTWRITEBYTECODE= $(VENV)/bin/python -c "import $(LOADED)" 2>/dev/null || true; \
	$(VENV)/bin/python -m compileall -q activities deer workflows starter.py worker.py 2>/dev/null || true

# Another active environment must not be taken for ours.
unexport VIRTUAL_ENV
unexport CONDA_PREFIX
# The question reaches the program byte for byte: make neither exports nor expands it, the shell sees one variable.
unexport QUESTION
research: export DEER_QUESTION = $(value QUESTION)

.DEFAULT_GOAL := help
.PHONY: help setup research question test faults chaos check fmt bench-main bench-history bench-waiting \
	bench-pages bench-parallel bench-quotes lock FORCE

help: ## show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-15s %s\n", $$1, $$2}' Makefile

setup: $(SETUP_STAMP) ## build .venv for development (EXTRAS="pdf ..." adds extras)

research: question $(CORE_STAMP) ## research a question: QUESTION="..." [ARGS="--auto-accept ..."]
	@$(UV) run starter.py research $(ARGS) -- "$$DEER_QUESTION" || { code=$$?; \
		[ $$code -ne 3 ] || echo "The run waits for you and keeps its work; make reports that as Error 3." >&2; exit $$code; }

question:
	@[ -n "$$DEER_QUESTION" ] || { echo 'usage: make research QUESTION="..." [ARGS="--auto-accept ..."]' >&2; exit 2; }

# Files go to three processes in their order, the slow ones first, so that all end at about the same time; on two cores
# the third works while the others wait for servers. One that dies ends the tests: what comes in its place may wait
# for ever for files that it does not get.
test: $(SETUP_STAMP) ## run all tests (ARGS="-k name" picks some)
	@PYTHONDONTWRITEBYTECODE= $(VENV)/bin/python -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder \
		--max-worker-restart 0 $(ARGS)

faults: $(SETUP_STAMP) ## kill a worker at every boundary of every activity (ARGS="--every 5" takes some); prints JSON
	@$(VENV)/bin/python -m bench.crashes $(ARGS)

chaos: $(SETUP_STAMP) ## thirty runs on services of which every fifth call fails; prints JSON
	@$(VENV)/bin/python -m bench.chaos $(ARGS)

check: $(SETUP_STAMP) ## lint, format check and strict types
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy .

fmt: $(SETUP_STAMP) ## mend what lint can mend, and format
	$(VENV)/bin/ruff check --fix-only --quiet .
	$(VENV)/bin/ruff format .

bench-main: $(SETUP_STAMP) ## measure the main job against its bound; prints JSON
	@$(VENV)/bin/python -m bench.main $(ARGS)

bench-history: $(SETUP_STAMP) ## measure the histories of long steps and large runs; prints JSON
	@$(VENV)/bin/python -m bench.history

bench-waiting: $(SETUP_STAMP) ## measure a thousand runs that wait for approval; prints JSON
	@$(VENV)/bin/python -m bench.waiting $(ARGS)

bench-pages: $(SETUP_STAMP) ## measure reading pages: time, and memory with bodies without end; prints JSON
	@$(VENV)/bin/python -m bench.pages

bench-parallel: $(SETUP_STAMP) ## measure twenty runs at once, and that none sees another's words; prints JSON
	@$(VENV)/bin/python -m bench.parallel $(ARGS)

bench-quotes: $(SETUP_STAMP) ## measure the check of a thousand quotes; prints JSON
	@$(VENV)/bin/python -m bench.quotes

lock: $(SETUP_STAMP) ## write the lock files again (ARGS=--upgrade takes newer versions)
	$(UV) $(COMPILE) $(ARGS) --output-file $(CORE_LOCK)
	for extra in $(LOCKED_EXTRAS); do \
		$(UV) $(COMPILE) $(ARGS) --extra $$extra --constraint $(CORE_LOCK) --output-file requirements/$$extra.lock || exit 1; done

# uv itself is fetched by pip under the hash that the core lock holds for it.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo '$(PYTHON) is missing or older than 3.11; name another: make PYTHON=python3.12 ...' >&2; exit 2; }
	@echo 'Building the environment in $(VENV) (once, about 20 s) ...' >&2
	@$(PYTHON) -m venv --clear $(VENV) >&2

$(VENV)/bin/uv: | $(VENV)/bin/python
	@awk '/^uv==/ {found = 1} found {print} found && !/\\$$/ {exit}' $(CORE_LOCK) >$(VENV)/uv-pinned.txt
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $(VENV)/uv-pinned.txt >&2

$(CORE_STAMP): $(CORE_LOCK) $(VENV)/bin/python | $(filter $(VENV)/%,$(UV))
	@$(UV) pip install --python $(VENV)/bin/python --quiet --require-hashes -r $(CORE_LOCK)
	@$(COMPILE_LOADED)
	@touch $@

$(SETUP_STAMP): $(SETUP_LOCKS) $(VENV)/bin/python $(if $(filter-out $(RECORDED_EXTRAS),$(EXTRAS))$(filter-out $(EXTRAS),$(RECORDED_EXTRAS)),FORCE) | $(filter $(VENV)/%,$(UV))
	@$(UV) pip sync --python $(VENV)/bin/python --quiet --compile-bytecode --require-hashes $(SETUP_LOCKS)
	@$(COMPILE_LOADED)
	@touch $(CORE_STAMP)
	@echo '$(EXTRAS)' >$@
