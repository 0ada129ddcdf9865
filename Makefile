PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# A plain path entry, so that a folder of the same name beside a script does not hide the packages.
EDITABLE := --config-settings editable_mode=compat --editable

.PHONY: demo test docs quick clean

demo: $(VENV)/installed
	$(BIN)/ringprism demo --out out/demo

test: $(VENV)/installed-test docs
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/ringprism claims --quick --workers 2
	$(BIN)/python -m pytest -n 2 --dist loadgroup tests theory regimes numerics ringprism

# The site, in out/site; a warning is an error.
docs: $(VENV)/installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

# A fast loop: the style, the layers, and the tests of what changes most, in less than a minute.
quick: $(VENV)/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest -q --timeout 60 tests/test_layers.py tests/theory/engine tests/regimes tests/cli/test_classify.py tests/cli/test_derive.py -m "not slow"

clean:
	rm -rf $(VENV) out build *.egg-info

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("ringprism needs Python 3.11 or newer; set PYTHON=… to one") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet $(EDITABLE) .
	touch $@

$(VENV)/installed-test: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet $(EDITABLE) '.[test]'
	touch $@ $(VENV)/installed

$(VENV)/installed-docs: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet $(EDITABLE) '.[docs]'
	touch $@ $(VENV)/installed
