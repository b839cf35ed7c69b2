#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Builds with scripts/setup --sanitize and runs each fuzz target from its corpus, six at a time. One line per target;
# inputs that fail are kept in a folder that is named, together with the logs.
# Status: 0 nothing was found, 1 something was, 2 wrong use, 77 there is no clang with libFuzzer.
set -eu

usage()
{
    echo "usage: tests/fuzz/run.sh [--target NAME]... [SECONDS_EACH]"
    echo "Without --target: all. Without SECONDS_EACH: 60."
}

seconds=60
chosen=
while [ $# -gt 0 ]; do
    case "$1" in
    -h | --help)
        usage
        exit 0
        ;;
    --target)
        if [ $# -lt 2 ]; then
            usage >&2
            exit 2
        fi
        chosen="$chosen $2"
        shift 2
        ;;
    '' | *[!0-9]*)
        echo "run.sh: unknown argument '$1' (try --help)" >&2
        exit 2
        ;;
    *)
        seconds=$1
        shift
        ;;
    esac
done

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

"$root/scripts/setup" --sanitize >"$temporary/setup.log" 2>&1 || {
    cat "$temporary/setup.log" >&2
    exit 1
}
build=$root/build-sanitize
corpus=$build/tests/fuzz/corpus
targets=${chosen:-$(cd "$corpus" && echo *)}
for target in $targets; do
    if [ ! -f "$here/fuzz_$target.c" ]; then
        echo "run.sh: no target '$target'; there are: $(cd "$corpus" && echo *)" >&2
        exit 2
    fi
    if [ ! -x "$build/tests/fuzz/fuzz_$target" ]; then
        echo "fuzzing: skipped: there is no clang with libFuzzer (Debian: clang, libclang-rt-14-dev or libclang-rt-dev)" >&2
        exit 77
    fi
done

# Failing inputs are kept for inspection.
found=$(mktemp -d)
# Dynamic thread-local storage is not tracked: libsanitizer misreads it in MPI programs started without mpirun.
export ASAN_OPTIONS="abort_on_error=0:detect_stack_use_after_return=0:intercept_tls_get_addr=0:${ASAN_OPTIONS-}"
export TMPDIR="$temporary"

# Limits: an input is small, so whatever it claims, 256 MB at once or 20 seconds are out of proportion. Where the input
# is a list of decisions, more than some hundred of them only take time.
fuzz()
{
    mkdir -p "$temporary/new-$1"
    status=0
    case "$1" in
    hdf5 | restart | let) longest=400 ;;
    *) longest=4096 ;;
    esac
    "$build/tests/fuzz/fuzz_$1" -max_total_time="$seconds" -max_len=$longest -len_control=10 -rss_limit_mb=2048 -malloc_limit_mb=256 \
        -timeout=20 -seed=1 -print_final_stats=1 -artifact_prefix="$found/$1-" "$temporary/new-$1" "$corpus/$1" \
        >"$found/$1.log" 2>&1 || status=$?
    sed -n 's/^stat::number_of_executed_units: *//p' "$found/$1.log" >"$temporary/$1.runs"
    sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$found/$1.log" | tail -n 1 >"$temporary/$1.coverage"
    if [ "$status" -eq 0 ]; then verdict=ok; else verdict="FAILED (status $status)"; fi
    echo "$1: $(cat "$temporary/$1.runs") runs, coverage $(cat "$temporary/$1.coverage"), $verdict" \
        >"$temporary/$1.line"
    cat "$temporary/$1.line"
    if [ "$status" -ne 0 ]; then
        grep -E 'broken promise|ERROR:|runtime error:|Test unit written' "$found/$1.log" | head -n 5 | sed 's/^/    /'
    fi
    return "$status"
}

failed=0
running=
count=0
for target in $targets; do
    fuzz "$target" &
    running="$running $!"
    count=$((count + 1))
    if [ $((count % 6)) -eq 0 ]; then
        for one in $running; do
            wait "$one" || failed=1
        done
        running=
    fi
done
for one in $running; do
    wait "$one" || failed=1
done
if [ "$failed" -eq 0 ]; then
    rm -rf "$found"
else
    echo "failing inputs and logs: $found"
fi
exit "$failed"
