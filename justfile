# The doors of the project. Each recipe is one line; the logic is in xtask.

# Format, lints, docs, tests, conformance: what CI runs.
check:
    bash .ci/run

# All tests, the rules of the house included.
test:
    cargo test --workspace --quiet

# Rewrites snapshots and generated pages; read the diff.
bless:
    UPDATE_EXPECT=1 cargo test --workspace --quiet

# A benchmark with the release build, such as `just bench longturn`; without a name, their list.
bench *ARGS:
    cargo xtask bench {{ARGS}}

# The release build against the recorded reference, such as `just conformance --match '^agents'`.
conformance *ARGS:
    cargo xtask conformance {{ARGS}}

# Files that more than one commit in ten goes through.
hot:
    cargo xtask hot
