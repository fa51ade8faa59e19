# Two commands set everything up on a machine with Python 3.11 or newer and make:
#   make demo   the main job: simulate a cloth from a mesh file and write the result
#   make test   everything that CI checks
# make blender  tests the extension for Blender with the module bpy, 400 MB
# make fuzz SECONDS=3600 tries random scenes and wrong arguments for so long
# make wheel  builds a wheel with compiled kernels into out/wheel
# and make docs builds the documentation into out/docs
PYTHON ?= python3
SECONDS ?= 60
VENV := .venv
BIN := $(VENV)/bin
DEMO := $(VENV)/.demo-installed
TEST := $(VENV)/.test-installed
OLDEST := out/oldest/.installed
KERNELS := out/.kernels
EXAMPLES := out/examples/.done
# these run in `make cuda`, too
ON_DEVICES := $(addprefix tests/cuda/test_,worlds_on_device.py host_device.py ledger.py)
RUN_EXAMPLES := SHINARI_EXAMPLES_OUT=$(CURDIR)/out/examples $(BIN)/python -m pytest -q -n 2 --dist worksteal

# the tests of the extension in Blender as a module, where there is a wheel for this Python
BLENDER := out/blender

# the suite starts hundreds of processes; each would compile 450 files of the package again
unexport PYTHONDONTWRITEBYTECODE

# two processes run tests, and threads of OpenBLAS in each would keep each other waiting
tests cuda bounds some-bounds contract $(EXAMPLES): export OPENBLAS_NUM_THREADS = 1

.PHONY: blender demo test check docs verify bench bounds some-bounds fuzz clean tests wheel try-wheel contract cuda

demo: $(DEMO)
	$(BIN)/shinari demo

test: check tests

# the documentation shows what the tests of the examples wrote; ALSO: what else is to run with the last of them
tests: $(TEST)
	$(RUN_EXAMPLES) $(addprefix --ignore=,$(ON_DEVICES))
	touch $(EXAMPLES)
	$(MAKE) -j 2 --output-sync $(ALSO) cuda some-bounds docs

# scenes of all systems in the simulator of CUDA, which needs no GPU
cuda: $(TEST)
	NUMBA_ENABLE_CUDASIM=1 $(BIN)/python -m pytest -q -n 2 --dist worksteal tests/cuda

# tests with bounds checks that CI runs
some-bounds: $(TEST)
	$(BIN)/python -m pytest -q -n 2 --bounds -m bounds $$(grep -rl --include="*.py" "mark\.bounds" tests)

# every test with bounds checks in all kernels; the first run compiles them into out/bounds
bounds: $(TEST)
	$(BIN)/python -m pytest -q -n 2 --dist worksteal --bounds -m "not ordinary_kernels"

check: $(TEST)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-cache
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/typos

docs: $(TEST) $(EXAMPLES)
	$(BIN)/sphinx-build -q -E -W --keep-going docs out/docs
	@echo open out/docs/index.html

$(EXAMPLES): | $(TEST)
	$(RUN_EXAMPLES) tests/unit/test_examples.py tests/unit/test_notebooks.py
	touch $@

blender: $(TEST)
	test -d $(BLENDER) || $(BIN)/python -m venv $(BLENDER)
	$(BIN)/python -c "import site; print('import site; site.addsitedir(%r)' % site.getsitepackages()[0])" \
	    >"$$($(BLENDER)/bin/python -c 'import site; print(site.getsitepackages()[0])')/shinari.pth"
	if $(BLENDER)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: bpy \
	    && $(BLENDER)/bin/python -c "import bpy"; then \
	    $(BLENDER)/bin/python -m pytest -q tests/unit/test_blender_bake.py tests/unit/test_blender_import.py; \
	else echo "skipped: there is no wheel of bpy for this Python, or it lacks a library of the system"; fi

verify: $(TEST)
	$(BIN)/shinari verify

# the kernels of all scenes and constraints of the package
$(KERNELS): $(TEST) $(shell find src/shinari -name "*.py")
	rm -rf out/objects.new
	$(BIN)/shinari warm --quiet --copy-to out/objects.new
	rm -rf out/objects && mv out/objects.new out/objects
	touch $@

# a wheel with those kernels, for the processors of the last ten years
wheel: $(TEST) $(KERNELS)
	rm -rf out/wheel src/shinari/compute/objects
	cp -r out/objects src/shinari/compute/objects
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir out/wheel .
	rm -rf src/shinari/compute/objects

# the wheel in an environment of its own, without a cache: two scenes compile nothing; for another processor, all.
# Kernels are shipped for the versions of Numba, llvmlite and NumPy that compiled them
try-wheel: wheel
	rm -rf out/try && $(BIN)/python -m venv out/try
	$(BIN)/python -m pip list --format freeze | grep -E "^(numba|llvmlite|numpy)==" >out/try/versions
	out/try/bin/python -m pip install --quiet --disable-pip-version-check -c out/try/versions out/wheel/*.whl
	cd out/try && bin/python -P $(CURDIR)/tests/try_wheel.py

# the execution layer, and scenes of all systems, with the oldest Numba that is supported
contract: $(OLDEST)
	out/oldest/bin/python -m pytest -q -p no:cacheprovider tests/compute tests/unit/test_split_launches.py

fuzz: $(TEST)
	SHINARI_FUZZ_SECONDS=$(SECONDS) $(BIN)/python -m pytest -q tests/property

bench: $(TEST)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	$(BIN)/shinari bench --peers

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(OLDEST): $(BIN)/python pyproject.toml
	rm -rf out/oldest && $(BIN)/python -m venv out/oldest
	out/oldest/bin/python -m pip install --quiet --disable-pip-version-check pytest -e . \
	    "$$(sed -n 's/^ *"\(numba\)>=\([0-9.]*\)",$$/\1==\2.*/p' pyproject.toml)"
	touch $@

$(DEMO): $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[all]'
	touch $@

$(TEST): $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	touch $@ $(DEMO)

clean:
	rm -rf $(VENV) out .pytest_cache .ruff_cache docs/gallery docs/notebooks docs/reference
