# Two commands on a fresh machine: `make book` and `make test`. Bare `make` lists them all.
PYTHON ?= python3
PY := .venv/bin/python

.DEFAULT_GOAL := help
.PHONY: help book serve test check verify notebooks widgets lab clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

book: .venv/ready ## build the book from the committed notebooks and say where it is
	@$(PY) book/pages.py

serve: book ## build the book and serve it on this machine
	@$(PY) -m http.server --bind 127.0.0.1 --directory _build/html 8000

test: .venv/ready ## everything that CI runs; STEP=name for one step
	@$(PY) tests/run.py $(STEP)

check: .venv/ready ## lint and the quick unit tests, for daily work
	@$(PY) tests/run.py lint quick

verify: .venv/ready ## after an edit: does the course still hold? CH=04 for one chapter
	@$(PY) -m attncourse verify $(if $(CH),--chapter $(CH))

notebooks: .venv/ready ## convert and execute the chapters that changed; CH=04 for one
	@$(PY) book/make_notebooks.py $(CH)

widgets: ## check and bundle the explorables' JavaScript; needs Node
	@command -v npm >/dev/null || { echo "make: Node with npm is needed to change an explorable (nodejs.org); to use one it is not"; exit 1; }
	@cd attncourse/widgets && npm ci --loglevel=error && npm run --silent build

lab: .venv/ready ## open the notebooks in JupyterLab
	@$(PY) -m jupyterlab notebooks

clean: ## remove what was built; the environment too
	rm -rf _build .venv build dist *.egg-info .pytest_cache .ruff_cache attncourse/widgets/node_modules

# The environment, by uv where it is installed, else by pip. A Linux machine without an NVIDIA driver gets torch's CPU
# build first: the default one is gigabytes. Where that index cannot be reached, what the pins say is taken.
ifneq ($(shell command -v uv),)
VENV := uv venv -q --seed --python $(PYTHON) .venv
INSTALL := uv pip install -q --python $(PY)
else
VENV := $(PYTHON) -m venv .venv
INSTALL := $(PY) -m pip install -q
endif
ONCE := PIP_RETRIES=0 PIP_TIMEOUT=20 UV_HTTP_RETRIES=0 UV_HTTP_TIMEOUT=20

.venv/ready: requirements.txt pyproject.toml
	@echo "Setting up the environment in .venv (a few minutes, once) ..."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "make: Python 3.11 or newer is needed; name one: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || command -v uv >/dev/null || { \
	  echo "This Python cannot make environments yet: installing the distribution's python3-venv ..."; \
	  sudo=$$([ $$(id -u) = 0 ] || command -v sudo); \
	  { $$sudo apt-get update -qq && $$sudo apt-get install -y -qq python3-venv >/dev/null; } \
	  || { echo "make: install python3-venv (or a Python with pip), then try again"; exit 1; }; }
	@[ -x $(PY) ] || $(VENV)
	@if [ "$$(uname -s)" = Linux ] && ! command -v nvidia-smi >/dev/null; then \
	  $(ONCE) $(INSTALL) --no-deps --index-url https://download.pytorch.org/whl/cpu \
	    "$$(grep '^torch==' requirements.txt)" >/dev/null 2>&1 || true; fi
	@$(INSTALL) -r requirements.txt
	@$(INSTALL) --no-deps -e .
	@touch $@
