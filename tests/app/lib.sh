# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What the tests of the app share. To be sourced with BARNESHUT set to the program.
set -u
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/mpi-env.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

fail()
{
    echo "FAIL: $*"
    failures=$((failures + 1))
}

# run RANKS ARG...: stdout and stderr in files out and err; the status is the app's. One rank runs without mpirun, so that
# the launcher's own words are not among those of the app.
run()
{
    local ranks=$1
    shift
    if [ "$ranks" -eq 1 ]; then
        "$BARNESHUT" "$@" >out 2>err
    else
        "${MPIEXEC:-mpirun}" -n "$ranks" "$BARNESHUT" "$@" >out 2>err
    fi
}

# expect RANKS ARG...: a run that must succeed.
expect()
{
    run "$@" || fail "status $? of: $* -- $(head -c 300 err)"
}

# value FILE KEY: of a report.
value()
{
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$1" "$2"
}

finish()
{
    [ "$failures" -eq 0 ] || exit 1
    echo "all as expected"
}
