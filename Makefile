# Every task of the project. `make help` lists them.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
LOCK   := requirements/dev.txt

# Bytecode is kept even if the environment forbids it, as in images. Otherwise each of the many test processes would
# compile the whole program and its tests again.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help install run test check format lock clean peers

help: ## list the tasks
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(VENV)/.installed ## build .venv with heliograph and its tools in it

$(VENV)/.installed: $(LOCK) $(VENV)/.runs
	@echo "Installing the tools into $(VENV): a minute or a few, the first time."
	$(BIN)/pip install --quiet --require-hashes -r $(LOCK)
	@touch $@

# The dependencies of the program, without the tools.
$(VENV)/.runs: requirements/run.txt requirements/build.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Heliograph needs Python 3.11 or newer; set PYTHON=/path/to/python3.11" if sys.version_info < (3, 11) else 0)'
	@echo "Installing into $(VENV): half a minute, the first time."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --require-hashes -r requirements/run.txt -r requirements/build.txt
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

run: $(VENV)/.runs ## start the gateway with a simulated operator and a demo account
	$(BIN)/heliograph serve --dev

# Many tests wait for other processes: two workers a core keep the cores at work.
TEST_WORKERS ?= $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))

# The tests that `make test` runs. Each worker would take 2 s to load schemathesis, whose tests are all extended.
CHOSEN := -m "not extended" -p no:schemathesis

test: install style ## run the checks and the tests that prove a change: seven minutes on two cores
	@$(MAKE) --no-print-directory -j 2 types tests

.PHONY: test-all
test-all: install style ## run the checks and all tests, the extended ones too: before a release
	@$(MAKE) --no-print-directory -j 2 types tests CHOSEN='-m "not ha"'
	@$(MAKE) --no-print-directory ha

# mypy runs beside the tests: it keeps a core busy, for a minute without its cache.
.PHONY: tests
tests: install
	$(BIN)/pytest -n $(TEST_WORKERS) --dist worksteal $(CHOSEN)

check: install style ## format, lint, types, rings and the fast tests, in under a minute
	@$(MAKE) --no-print-directory -j 2 types fast

.PHONY: fast
fast: install
	$(BIN)/pytest -n auto -q -p no:schemathesis -m "not slow and not peer and not extended" tests/tidy tests/unit tests/vectors tests/properties

.PHONY: hidden
hidden: install ## run the tests against foreign programs while none of these can be found: all must be skipped
	HELIOGRAPH_PEERS=hidden $(BIN)/pytest -q -m peer -p no:schemathesis

# --- strain: `make strain TESTS="tests/e2e tests/browser"`; `SEED=7` for pauses like those of another run
.PHONY: strain
strain: install ## run tests while their processes are stopped at random: finds tests that pass only sometimes
	$(BIN)/python -m tests.support.strain $(if $(SEED),--seed $(SEED)) -n $(TEST_WORKERS) --dist worksteal $(TESTS)

.PHONY: lint style types words
lint: style types

style: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: install
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

words: install ## count words that hide their subject, examples and small slips, by folder; IN=smpp for its modules
	@$(BIN)/python -m tests.tidy.words $(IN)

format: install ## rewrite the code in the house style
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## remove everything that was built or installed
	rm -rf $(VENV) .native $(RELEASE) .peers dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

lock: ## work out requirements/*.txt again, from pyproject.toml
	$(PYTHON) -m venv $(VENV)-lock && $(VENV)-lock/bin/pip install --quiet uv
	for name in build run dev native release peers esmes wheels; do \
	  case $$name in \
	    build|native|release|peers) what=requirements/$$name.in;; \
	    esmes) what="--no-strip-extras requirements/esmes.in";; \
	    wheels) what="--constraints requirements/peers.txt requirements/wheels.in";; \
	    run) what="--extra postgres pyproject.toml";; \
	    dev) what="--extra dev pyproject.toml";; \
	  esac; \
	  $(VENV)-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	    --custom-compile-command "make lock" -o requirements/$$name.txt $$what; \
	done
	rm -rf $(VENV)-lock

# --- release: the steps of docs/releasing.md; its tools have their own environment
RELEASE := .release

$(RELEASE)/.installed: requirements/release.txt
	rm -rf $(RELEASE) && $(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/pip install --quiet --require-hashes -r requirements/release.txt
	@touch $@

.PHONY: sbom audit-dependencies
sbom: $(RELEASE)/.installed ## write dist/heliograph.cdx.json: the parts of the program (CycloneDX), from the lock
	@mkdir -p dist
	@PYTHONWARNINGS=ignore $(RELEASE)/bin/cyclonedx-py requirements --pyproject pyproject.toml --mc-type application \
	  --output-reproducible --sv 1.6 --of JSON -o dist/heliograph.cdx.json requirements/run.txt
	@$(RELEASE)/bin/python requirements/complete_sbom.py dist/heliograph.cdx.json
	@echo "dist/heliograph.cdx.json is written."

audit-dependencies: $(RELEASE)/.installed ## look up known vulnerabilities of locked packages; needs a network
	@for name in run build native dev peers release; do \
	  echo "requirements/$$name.txt"; \
	  $(RELEASE)/bin/pip-audit --strict --require-hashes --disable-pip --progress-spinner off -r requirements/$$name.txt || { \
	    echo "A fault is known of what is above, or the service that knows could not be asked (it takes a network): nothing is proven." >&2; \
	    exit 1; }; \
	done

PEERS := .peers
space := $(subst ,, )

# $(call debian,TEST,PACKAGES,WHAT): installs Debian's packages unless the test finds them here already.
define debian
@$(1) || \
  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(2); \
  else \
    echo "Not here: Debian's $(2). Install it, or $(3) are left out"; \
  fi
endef

# The compiler of C#, and the libraries that a generated client names.
MONO := mono-mcs mono-runtime libmono-system-componentmodel-dataannotations4.0-cil libmono-system-net-http4.0-cil \
        libmono-system-runtime-serialization4.0-cil libmono-system-web4.0-cil

# Without a user interface it takes less CPU time. Not every release of Debian has that package.
CHROMIUM = $$(apt-cache show chromium-headless-shell >/dev/null 2>&1 && echo chromium-headless-shell || echo chromium)

peers: $(PEERS)/python/.installed $(PEERS)/esmes/.installed ## install the foreign programs that the tests use: aiosmpplib, rusmppyc, smpp34, Jasmin, npm's smpp, axe-core, typescript, standardwebhooks, redocly and spectral, openapi-generator, Debian's gcc, kannel, chromium, php, java, go, mono, promtool, openssl, curl, libnet-smpp-perl, pgbouncer, and patroni with etcd, postgresql and haproxy
	cp tests/peers/package.json tests/peers/package-lock.json $(PEERS)/
	cd $(PEERS) && npm ci --silent --no-audit --no-fund
	$(call debian,command -v cc >/dev/null,gcc libc6-dev,the tests of compiled modules)
	$(call debian,command -v javac >/dev/null,default-jdk-headless,the generators of clients and samples in Java)
	$(call debian,command -v go >/dev/null,golang-go,the generated client for Go)
	$(call debian,command -v mcs >/dev/null && command -v mono >/dev/null,$(MONO),the generated client in C#)
	$(call debian,command -v bearerbox >/dev/null || test -x /usr/sbin/bearerbox,kannel kannel-extras,its tests)
	$(call debian,test -x /usr/bin/chromium-headless-shell || { test -x /usr/bin/chromium && test "$$(id -u)" != 0; },$(CHROMIUM),the console's tests in it)
	$(call debian,test -e /usr/share/php/GuzzleHttp/autoload.php && command -v php >/dev/null,php-cli php-curl php-mbstring php-guzzlehttp-guzzle,samples and the generated client in PHP)
	$(call debian,test -e /usr/share/perl5/Net/SMPP.pm,libnet-smpp-perl,its tests)
	$(call debian,command -v pgbouncer >/dev/null || test -x /usr/sbin/pgbouncer,pgbouncer,its test)
	$(call debian,command -v patroni >/dev/null && command -v etcd >/dev/null && test -x /usr/sbin/haproxy && ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1,patroni etcd-server postgresql haproxy,the trials of `make ha`)
	$(call debian,{ command -v openssl && command -v curl; } >/dev/null,openssl curl,the tests of TLS with them)
	@command -v promtool >/dev/null || test -x $(PEERS)/promtool || \
	  if command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null; then \
	    { apt-get download -qq prometheus 2>/dev/null || { apt-get update -qq && apt-get download -qq prometheus; }; } \
	    && dpkg-deb --fsys-tarfile prometheus_*.deb | tar -xO ./usr/bin/promtool > $(PEERS)/promtool && chmod +x $(PEERS)/promtool; \
	    rm -f prometheus_*.deb; \
	  else \
	    echo "promtool is not here: install Debian's package prometheus, or the alerts' tests are left out"; \
	  fi

# The generator of clients, and the dependencies of its Python client.
$(PEERS)/python/.installed: requirements/peers.txt
	rm -rf $(PEERS)/python && mkdir -p $(PEERS) && $(PYTHON) -m venv $(PEERS)/python
	$(PEERS)/python/bin/pip install --quiet --require-hashes -r requirements/peers.txt
	@touch $@

# SMPP clients that bind to the gateway.
$(PEERS)/esmes/.installed: requirements/esmes.txt
	rm -rf $(PEERS)/esmes && mkdir -p $(PEERS) && $(PYTHON) -m venv $(PEERS)/esmes
	$(PEERS)/esmes/bin/pip install --quiet --require-hashes -r requirements/esmes.txt
	@touch $@

.PHONY: interop
interop: install ## try the foreign programs, and write the results into docs/smpp.md
	HELIOGRAPH_WRITE_DOCS=1 $(BIN)/pytest -q -n auto -m interop

# --- native: the hot modules compiled, see docs/decisions/0014
NATIVE := .native

.PHONY: compiled
compiled: install ## compile the modules that read rows of a store, and run their contracts with them
	$(BIN)/pytest -q -p no:schemathesis tests/integration/packaging/test_compiled_part.py

.PHONY: native
native: $(NATIVE)/.installed ## compile the hot modules, and install the program with them into .native

$(NATIVE)/.installed: hatch_build.py pyproject.toml requirements/run.txt requirements/native.txt $(shell find src -type f -not -name '*.pyc')
	rm -rf $(NATIVE) && $(PYTHON) -m venv $(NATIVE) && $(PYTHON) -m venv $(NATIVE)/tools
	$(NATIVE)/tools/bin/pip install --quiet --require-hashes -r requirements/native.txt
	HATCH_BUILD_HOOK_ENABLE_CUSTOM=true $(NATIVE)/tools/bin/python -m hatchling build -t wheel -d $(NATIVE)/dist
	$(NATIVE)/bin/pip install --quiet --require-hashes -r requirements/run.txt
	$(NATIVE)/bin/pip install --quiet --no-deps $(NATIVE)/dist/*.whl
	@touch $@

# --- wheels: the files of a release that this machine can make; the workflow `release` makes the files of other machines
.PHONY: wheel wheels
wheel: $(VENV)/.runs ## make the wheel for any machine: dist/
	$(BIN)/python -m hatchling build -t wheel -d dist

wheels: native ## make both wheels, install each in an empty environment, and run it
	rm -rf dist/wheels && mkdir -p dist/wheels
	$(NATIVE)/tools/bin/python -m hatchling build -t wheel -d dist/wheels
	cp $(NATIVE)/dist/*.whl dist/wheels/
	for wheel in dist/wheels/*.whl; do \
	  rm -rf dist/try && $(PYTHON) -m venv dist/try \
	  && dist/try/bin/pip install --quiet --require-hashes -r requirements/run.txt \
	  && dist/try/bin/pip install --quiet --no-deps $$wheel \
	  && dist/try/bin/heliograph --version && dist/try/bin/heliograph --data dist/try/data account create acme --credit 1 --json >/dev/null \
	  || exit 1; echo "runs: $$wheel"; \
	done
	rm -rf dist/try

# --- bench: `make bench` for the whole, or for instance
#   make bench SCENARIO="loop latency" RUNS=5 SECONDS=6 GATEWAYS="heliograph kannel" RATES="4000 6000"
#   make bench SCENARIO=fill SIZE=10e6 STORED=/var/tmp/stored     and then, again and again
#   make bench SCENARIO=growth SIZE=10e6 STORED=/var/tmp/stored
#   make bench SCENARIO=loop RUNS=1 PROFILE=1
#   make bench SCENARIO="loop accept" RUNS=1 INSTRUCTIONS=1
#   make bench SCENARIO=commits COMMITS="c0c75b60 HEAD" RUNS=9
# Scenarios: `make bench SCENARIO=list`, explained in docs/performance.md. `parts` runs bench/*.py, each of which measures
# a single part: smpp_codec.py, store.py, webhook.py, carrier.py.
BENCH := .bench

.PHONY: bench
bench: install $(if $(filter-out commits,$(or $(SCENARIO),all)),native) $(BENCH)/operator $(BENCH)/customer $(BENCH)/esme ## measure the gateway, beside Kannel where that is installed; SCENARIO=commits COMMITS="v1 HEAD" compares commits
	@$(BIN)/python -m bench.loop --programs $(BENCH) --ours $(NATIVE)/bin/heliograph $(if $(RUNS),--runs $(RUNS)) $(if $(SECONDS),--seconds $(SECONDS)) \
	  $(if $(GATEWAYS),--gateways "$(GATEWAYS)") $(if $(COMMITS),--commits "$(COMMITS)") $(if $(RATES),--rates "$(RATES)") $(if $(SIZE),--size $(SIZE)) \
	  $(if $(SETTINGS),--settings "$(SETTINGS)") $(if $(FOLDER),--folder "$(FOLDER)") $(if $(STORED),--stored "$(STORED)") $(if $(PROFILE),--profile) $(if $(INSTRUCTIONS),--instructions) \
	  $(SCENARIO)

$(BENCH)/%: bench/loop/programs/%.c
	@mkdir -p $(BENCH)
	$(CC) -O2 -Wall -Wextra -o $@ $<

# --- simulation: `make sim` for 100 seeds; `make sim SEEDS=5000 FIRST=100000`; `make sim MINUTES=10 SEEDS=1000000`;
#   `make sim PLAN=crashes FIRST=17 SEEDS=1` repeats a single world. docs/reliability.md explains it.
SEEDS := 100
FIRST := 0

.PHONY: sim
sim: install ## live through many seeded worlds of faults, on every core at the lowest priority
	@$(BIN)/python -m tests.simulation.sweep --seeds $(SEEDS) --first $(FIRST) $(if $(PLAN),--plan $(PLAN)) \
	  $(if $(MINUTES),--minutes $(MINUTES)) $(if $(WORKERS),--workers $(WORKERS))

# --- crash: `make crash` for 50 kills; `make crash KILLS=20 STORE=postgres`; `make crash STORE=postgres NODES=3`;
#   `make crash SMPP=1` for customers that bind by SMPP; `make crash FAILOVER=1` for two operators, of which the first
#   refuses and dies
KILLS := 50

.PHONY: crash
crash: install ## kill the installed program under load, many times, and compare all answers and messages
	@$(BIN)/python -m tests.e2e.crash --kills $(KILLS) $(if $(STORE),--store $(STORE)) $(if $(NODES),--nodes $(NODES)) $(if $(SMPP),--smpp) \
	  $(if $(FAILOVER),--failover)

# --- soak: `make soak` for two hours at 500 messages a second; `make soak MINUTES=30 RATE=200 STORE=postgres`
.PHONY: soak
soak: install ## run the installed program under an even load, and look for growth of memory, log and latency
	@$(BIN)/python -m tests.e2e.soak $(if $(MINUTES),--minutes $(MINUTES)) $(if $(RATE),--rate $(RATE)) $(if $(STORE),--store $(STORE))

# --- ha: `make ha` for all trials on a cluster of Patroni, a quarter of an hour; `make ha TRIALS="switchover kill_leader"`
.PHONY: ha
ha: install ## try the recipe of docs/high-availability.md: faults under load on three databases and two gateways
	$(BIN)/pytest -q -s -m ha -p no:schemathesis $(if $(TRIALS),-k "$(subst $(space), or ,$(strip $(TRIALS)))") tests/ha

# --- pace: `make pace` for the table in docs/smpp.md, half an hour; `make pace LATENCIES=50 ONLY="bucket of 1"`
.PHONY: pace
pace: install ## send to operators with every kind of limit, and measure the rates
	@$(BIN)/python -m tests.e2e.pace $(if $(LATENCIES),--latencies $(LATENCIES)) $(if $(ONLY),--only "$(ONLY)") $(if $(WRITE),--write)

# --- siege: `make siege` for the table in docs/security.md, a minute and a half; `make siege SECONDS=60 WRITE=1`;
#   `make siege SMPP=1` attacks the SMPP server
.PHONY: siege
siege: install ## attack the installed program from addresses of loopback, and measure the latency of a good client
	@$(BIN)/python -m tests.e2e.$(if $(SMPP),smpp_)siege $(if $(SECONDS),--seconds $(SECONDS)) $(if $(WRITE),--write)

.PHONY: explore
explore: install ## try the properties with examples that no run has tried before
	HELIOGRAPH_EXAMPLES=new $(BIN)/pytest -n $(TEST_WORKERS) --dist worksteal -m hypothesis

# --- fuzz: `make fuzz` for the table in docs/security.md, some twenty minutes; `make fuzz INPUTS=100000 SEED=7 ONLY=cookies`
INPUTS := 2400000

.PHONY: fuzz
fuzz: install ## try millions of damaged inputs on every parser of foreign data, in a single process
	@$(BIN)/python -m tests.fuzz.campaign --inputs $(INPUTS) --seed $(or $(SEED),19) $(if $(ONLY),--only $(ONLY))

# --- power: `make power` for 1,000 losses of power; `make power CUTS=100 SEED=7`
CUTS := 1000

.PHONY: power
power: install ## cut the power of the recorded program at many moments, and check the contents of the disk
	@$(BIN)/python -m tests.e2e.power --cuts $(CUTS) $(if $(SEED),--seed $(SEED)) $(if $(SMPP),--smpp)
