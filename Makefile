# `make demo` and `make test` are all a new checkout needs.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
SOURCES := $(filter-out %.md,$(wildcard kernels/* kernels/*/*)) pyproject.toml
JOBS ?= 2

.PHONY: demo test test-fast test-torch fuzz lint bench docs dist sbom sanitize portable clean

demo: $(VENV)/.demo-ready
	$(BIN)/credalens demo

test: lint sanitize portable
	$(BIN)/python -m pytest -n $(JOBS)

test-fast: $(VENV)/.ready
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow"

# PyTorch and JAX are large, so their tests have an environment of their own.
test-torch: $(VENV)-torch/.ready
	$(VENV)-torch/bin/python -m pytest -n $(JOBS) -k "torch or jax" tests src/credalens/predictors/torch \
	  docs/tutorials/pytorch.md

# Damaged and enormous files, killed and interrupted runs; `make fuzz SEED=1 FUZZ_SECONDS=60` for others.
SEED ?= 0
FUZZ_SECONDS ?= 600
fuzz: $(VENV)/.ready
	$(BIN)/python tests/fuzzing.py --seconds $(FUZZ_SECONDS) --seed $(SEED)

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/check_words.py

# In the environment with PyTorch, which the peer probly requires; a peer that cannot be installed is
# skipped.
bench: $(VENV)-torch/.ready
	-$(VENV)-torch/bin/pip install --quiet --no-deps highspy
	-$(VENV)-torch/bin/pip install --quiet --no-deps --ignore-requires-python \
	  --target build/peers/probly probly==0.9.1
	$(VENV)-torch/bin/python -m benchmarks; missed=$$?; \
	  $(VENV)-torch/bin/python -m benchmarks.readme; exit $$missed

# The pages, in build/docs/html; a warning is an error, and internal links are checked.
docs: $(VENV)/.ready
	$(BIN)/pip install --quiet --group docs
	$(BIN)/sphinx-build -W --keep-going -q -j auto -d build/docs/doctrees docs build/docs/html
	@echo "wrote build/docs/html/index.html"

# An archive of the sources and, from it, a wheel for every Python at hand, each tried with its tests
# in an environment of its own that has no compiler.
PYTHONS ?= python3.11 python3.12 python3.13
WHEEL_TESTS := tests/test_kernels.py tests/test_kernels_sets.py tests/measures/test_entropy.py tests/measures/test_quantify.py tests/sets/test_hull.py tests/cli/test_commands.py
dist: export SOURCE_DATE_EPOCH := $(shell git log -1 --format=%ct)
dist: $(VENV)/.ready
	rm -rf dist build/dist
	$(BIN)/pip install --quiet build
	$(BIN)/python -m build --sdist --outdir dist .
	$(BIN)/python -m build --sdist --outdir build/dist/again .
	cmp dist/credalens-*.tar.gz build/dist/again/credalens-*.tar.gz  # reproducible
	set -e; for python in $(PYTHONS); do \
	  if ! $$python -c "" 2>/dev/null; then echo "dist: no $$python here, left out"; continue; fi; \
	  tag=cp$$($$python -c "import sys; print('%d%d' % sys.version_info[:2])"); \
	  bin=build/dist/$$tag/bin; \
	  $$python -m venv build/dist/$$tag; \
	  $$bin/pip install --quiet --upgrade pip; \
	  $$bin/pip wheel --quiet --no-deps --wheel-dir dist dist/credalens-*.tar.gz; \
	  wheel=$$(echo dist/credalens-*-$$tag-*.whl); \
	  CC=/bin/false CXX=/bin/false $$bin/pip install --quiet "$$wheel[report,sklearn,plots]"; \
	  $$bin/pip check; \
	  $$bin/pip install --quiet --group wheel; \
	  $$bin/python -m pytest -q -p no:cacheprovider -c pyproject.toml $(WHEEL_TESTS); \
	  $$bin/credalens doctor | head -2; \
	done
	$(MAKE) sbom
	ls -l dist

# The packages of an installation with all extras but PyTorch, with their licences (CycloneDX).
sbom: $(VENV)/bin/python
	rm -rf build/sbom && mkdir -p dist build/sbom
	$(PYTHON) -m venv build/sbom/all && $(PYTHON) -m venv build/sbom/tool
	build/sbom/all/bin/pip install --quiet "$$(ls dist/credalens-*.whl | head -1)[all]"
	build/sbom/tool/bin/pip install --quiet cyclonedx-bom
	build/sbom/tool/bin/cyclonedx-py environment build/sbom/all/bin/python --output-reproducible \
	  --of JSON -o dist/sbom.json

# The kernel tests under AddressSanitizer and UndefinedBehaviorSanitizer, where gcc has them.
ASAN := $(shell gcc -print-file-name=libasan.so 2>/dev/null)
UBSAN := $(shell gcc -print-file-name=libubsan.so 2>/dev/null)
# The environment's packages are put on the path of the plain interpreter, which does not see the
# editable install and so takes the sanitized build.
SITE := "import sysconfig; print(sysconfig.get_path('purelib'))"
sanitize: $(VENV)/.ready
ifeq ($(and $(findstring /,$(ASAN)),$(findstring /,$(UBSAN))),)
	@echo "sanitize: left out, gcc has no libasan and libubsan here"
else
	$(MAKE) $(VENV)/.sanitized
	cd build/sanitized && LD_PRELOAD="$(ASAN) $(UBSAN)" ASAN_OPTIONS=detect_leaks=0 \
	  PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 PYTHONPATH="$(CURDIR)/build/sanitized:$$($(CURDIR)/$(BIN)/python -c $(SITE))" \
	  $(PYTHON) -m pytest -q -p no:cacheprovider -c $(CURDIR)/pyproject.toml \
	  --rootdir=$(CURDIR) $(CURDIR)/tests/test_kernels.py $(CURDIR)/tests/test_kernels_sets.py \
	  $(CURDIR)/tests/test_kernels_planes.py \
	  $(CURDIR)/tests/test_kernels_second_order.py $(CURDIR)/tests/evaluation/test_resampling.py \
	  $(CURDIR)/tests/test_pullbacks.py
endif

# The kernels as other compilers and platforms build them, for the baseline instruction set.
portable: $(VENV)/.portable
	cd build/portable && PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 \
	  PYTHONPATH="$(CURDIR)/build/portable:$$($(CURDIR)/$(BIN)/python -c $(SITE))" \
	  $(PYTHON) -m pytest -q -p no:cacheprovider -c $(CURDIR)/pyproject.toml \
	  --rootdir=$(CURDIR) $(CURDIR)/tests/test_kernels.py $(CURDIR)/tests/test_kernels_sets.py \
	  $(CURDIR)/tests/test_kernels_planes.py \
	  $(CURDIR)/tests/test_kernels_second_order.py $(CURDIR)/tests/evaluation/test_resampling.py \
	  $(CURDIR)/tests/measures/test_entropy.py $(CURDIR)/tests/measures/test_total_variation.py

# Built in the environment, not in a temporary one, and in a folder that is kept: after a change, only
# what depends on it is compiled again.
BUILD := --no-build-isolation --config-settings=build-dir=build/cmake
BUILD_TOOLS := "scikit-build-core>=0.11" "nanobind>=2.4" "setuptools-scm>=8" "numpy>=2.1" cmake ninja

$(VENV)/.portable: $(VENV)/.ready $(SOURCES)
	rm -rf build/portable
	$(BIN)/pip install --quiet $(BUILD)-portable --no-deps --target build/portable \
	  --config-settings=cmake.define.CREDALENS_PORTABLE=ON .
	touch $@

$(VENV)/.sanitized: $(VENV)/.ready $(SOURCES)
	rm -rf build/sanitized
	$(BIN)/pip install --quiet $(BUILD)-sanitized --no-deps --target build/sanitized \
	  --config-settings=cmake.define.CREDALENS_SANITIZE=ON \
	  --config-settings=install.strip=false .
	touch $@

$(VENV)/bin/python:
	@$${CXX:-c++} --version >/dev/null 2>&1 || g++ --version >/dev/null 2>&1 || \
	  clang++ --version >/dev/null 2>&1 || \
	  { echo "make: no C++ compiler was found; install g++ or clang, or set CXX to its path"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet $(BUILD_TOOLS)

$(VENV)/.demo-ready: $(VENV)/bin/python $(SOURCES)
	$(BIN)/pip install --quiet $(BUILD) -e ".[report,sklearn,plots]"
	touch $@

$(VENV)/.ready: $(VENV)/.demo-ready
	$(BIN)/pip install --quiet $(BUILD) -e ".[all]" --group test --group lint
	touch $@

$(VENV)-torch/.ready: $(SOURCES)
	$(PYTHON) -m venv $(VENV)-torch
	$(VENV)-torch/bin/pip install --quiet --upgrade pip
	$(VENV)-torch/bin/pip install --quiet torch==2.13.0 $(BUILD_TOOLS)
	$(VENV)-torch/bin/pip install --quiet $(BUILD)-torch -e ".[all]" --group test jax
	$(VENV)-torch/bin/pip install --quiet --no-deps torchmetrics lightning-utilities probly==0.3.0 tqdm
	touch $@

clean:
	rm -rf build dist $(VENV) $(VENV)-torch .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
