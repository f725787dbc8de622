# `make demo` and `make test` do all the set-up on a fresh clone. Nothing else need be installed but Python 3.11 or
# newer, and a JDK 17 for what runs on Spark.

PYTHON ?= $(shell command -v python3.11 || command -v python3 || echo python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo docs kafka-demo chromium compiled test test-all matrix lint measure figures picture soak golden clean

demo: compiled
	@sh scripts/need-jdk.sh
	@sh scripts/demo.sh $(BIN)/penstock

# A real broker of Kafka, in build/kafka-demo: fetched by Maven, filled, read and written, stopped.
kafka-demo: $(READY)
	@sh scripts/need-jdk.sh
	@$(BIN)/python -m tests.kafka.demo

# Under 20 minutes on two cores: a small case of everything. `make test-all` has the thorough ones too.
test: lint compiled
	$(BIN)/python -m pytest -n 2 --dist worksteal -q -m "not thorough"

# Bytecode of all that tests start: where PYTHONDONTWRITEBYTECODE is set, each process would else compile it anew.
compiled: $(READY)
	@$(BIN)/python -m compileall -q src tests benchmarks

# The browser of tests/live/test_browser.py, by Debian's packages.
chromium:
	@command -v chromium > /dev/null || (apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium)

# The site of the documentation, in build/site; a warning is an error. Its tools have an environment of their own.
docs:
	@test -x build/docs/bin/mkdocs || ($(PYTHON) -m venv build/docs && build/docs/bin/pip install -q -r docs/requirements.txt)
	NO_MKDOCS_2_WARNING=1 build/docs/bin/mkdocs build -q --strict

test-all: lint compiled
	$(BIN)/python -m pytest -n 2 --dist worksteal -q

# Python 3.11 to 3.13 and Spark 4.1 to 4.3, as far as they are here; each has an environment of its own in build/matrix.
matrix:
	@sh scripts/need-jdk.sh
	@sh scripts/matrix.sh

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The measures of the issues at the size they state; in `make test` they run smaller and print their size.
measure: $(READY)
	PENSTOCK_MEASURE=full $(BIN)/python -m pytest -q -rP -m measure

# All figures of docs/performance.md and docs/nexmark.md, and the picture of the README, from this machine and this day.
# Well over an hour, on a machine that does nothing else. What falls short of its aim says so, and the next goes on.
figures: $(READY)
	@sh scripts/need-jdk.sh
	-$(BIN)/penstock bench packets --write-docs
	$(MAKE) picture
	-$(BIN)/penstock bench shapes --write-docs
	-$(BIN)/penstock bench skew --write-docs
	-$(BIN)/penstock bench scaling --write-docs
	-$(BIN)/penstock bench times --write-docs
	-$(BIN)/penstock bench standing --write-docs
	-$(BIN)/penstock bench long --write-docs
	-$(BIN)/penstock bench peers --write-docs
	-$(BIN)/penstock bench nexmark --write-docs

picture: $(READY)
	$(BIN)/penstock bench packets --quick --only throughput --seconds 300 --rows-a-batch 12000 --picture docs/state.svg

# Kills, random cases and fuzzed scripts from fresh seeds: `make soak MINUTES=60`; the counts go into docs/endurance.md.
MINUTES ?= 30
soak: $(READY)
	@sh scripts/need-jdk.sh
	$(BIN)/python -m tests.soak --minutes $(MINUTES) --record

# Rewrites the expected files beside the golden cases; read the diff before you commit it.
golden: $(READY)
	$(BIN)/python -m pytest -q tests/golden tests/docs --update-golden

$(READY): pyproject.toml
	@sh scripts/need-python.sh "$(PYTHON)"
	@test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV)
	@echo "Setting up $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
