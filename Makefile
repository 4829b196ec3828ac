# ergo's everyday commands; `make` alone lists them. Everything goes through cargo: nothing here is needed to build.
.DEFAULT_GOAL := help
# Rust as rustup installs it is found even if the shell was not restarted since, and before the system's own, which is often too old.
export PATH := $(HOME)/.cargo/bin:$(PATH)
# `ergo --version` names the commit that it was built from; builds for development do not, so that a commit compiles nothing anew.
COMMIT = $$(git rev-parse --short=10 HEAD 2>/dev/null)

CARGO ?= cargo
# Further arguments: make run ARGS=--plain, make test ARGS=guard, make bench ARGS=guard
ARGS ?=

# Cargo, with a word before the first build on how long it takes, and on failure the command that installs what a build needs.
define build_with
ls -d "$${CARGO_TARGET_DIR:-target}"/*/deps >/dev/null 2>&1 || echo "Building ergo and llama.cpp: 10 to 15 minutes on two cores the first time, seconds after that." >&2; \
$(CARGO) $(1) || { status=$$?; bash scripts/setup.sh --after-failed-build; exit $$status; }
endef

.PHONY: help setup run test build install lint docs manual package test-package bench soak simulate test-clients capture

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install what the build needs and is missing
	@bash scripts/setup.sh

run: setup ## build, then the demonstration: writes refused and stored, and the app on the first card
	@$(call build_with,build --locked)
	@$(CARGO) run --locked --quiet -- demo $(ARGS)

# Tests wait for daemons, terminals and networks more than they compute: twice as many at once as there are cores.
test: setup ## every test (minutes; no network beyond the crates)
	@$(call build_with,test --workspace --no-run --locked $(ARGS))
	RUST_TEST_THREADS=$${RUST_TEST_THREADS:-$$((2 * $$(getconf _NPROCESSORS_ONLN)))} bash scripts/in-memory.sh $(CARGO) test --workspace --locked $(ARGS)

build: setup ## the optimised program: target/release/ergo
	@export ERGO_COMMIT="$(COMMIT)"; $(call build_with,build --release --locked)

install: setup ## the optimised program into ~/.cargo/bin
	@export ERGO_COMMIT="$(COMMIT)"; $(call build_with,install --path . --locked)

lint: setup ## formatting, clippy, documentation: all without a warning
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

docs: setup ## the code's documentation: target/doc/ergo
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --no-deps --locked

manual: setup ## the manual as a book: target/manual/index.html (builds mdBook once)
	@bash scripts/manual.sh

package: setup ## .deb, .rpm and .tar.gz for Linux: target/package (needs root and debootstrap; long)
	@bash scripts/package/build.sh

test-package: ## install, upgrade and remove the .deb in bare Debian roots (needs root and debootstrap)
	@bash scripts/package/test.sh

bench: setup ## speed, measured with the optimised program (many minutes)
	$(CARGO) bench -p ergo-bench --locked $(ARGS)
	$(CARGO) run --release -p ergo-bench --locked --quiet -- store

soak: setup ## kill -9 over and over: SOAK_SECONDS=60
	SOAK_SECONDS=$${SOAK_SECONDS:-60} $(CARGO) test --locked --test it soak_ -- --ignored --nocapture

# A seed that fails is printed with the command that repeats it.
simulate: setup ## peers that write, part and meet again: SEEDS=10000; how a team grows: DEVICES=64
ifdef DEVICES
	ERGO_SIM_DEVICES=$(DEVICES) $(CARGO) test --locked --test it simulation::growth -- --nocapture
else
	ERGO_SIM_SEEDS=$${SEEDS:-1000} $(CARGO) test --locked --test it simulation::whatever -- --nocapture
endif

test-clients: setup ## flows with other programs' clients (may install them)
	@bash scripts/test-clients.sh

capture: setup ## redraw the README's pictures and its recording: docs/img
	@USER=ada $(CARGO) run -p ergo-bench --locked --quiet -- demo --capture docs/img/conflict.svg >/dev/null
	@USER=ada $(CARGO) run -p ergo-bench --locked --quiet -- demo --record docs/img/review.cast >/dev/null
	@chmod 644 docs/img/conflict.svg docs/img/review.cast
