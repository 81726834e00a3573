# Short names for what CONTRIBUTING.md describes. `just` is a convenience: nothing else needs it.

# every test, as the gate runs them
test *flags:
    ./test {{flags}}

# what is quick enough after each edit
check:
    cargo check --workspace --all-targets
    cargo xtask check

lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings

# the generated files: command reference, configuration schema
gen:
    cargo xtask gen

# what decides whether a change may go in
gate:
    .ci/run
