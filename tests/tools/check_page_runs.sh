#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Every block of shell commands on a page runs unchanged: in order, in one shell, each command without error. The
# commands see the folders of a source tree and build/, without an installation, and write into a temporary folder. In
# the source of a man page these are the blocks under EXAMPLES, which assume installed programs. A block after a line
# <!-- not run: REASON --> is skipped. The lines of a block after a line "prints" or "prints among other lines" are lines
# of the output.
# usage: check_page_runs.sh PAGE SOURCE_ROOT BUILD_ROOT
#        check_page_runs.sh --all SOURCE_ROOT BUILD_ROOT PAGE...   every page with such blocks is in this list; its
#            programs, except benches, are built by scripts/setup; mpi-env.sh comes before the first mpirun
set -eu

commands_of()
{
    case "$1" in
    *.scd) awk '/^# / { examples = /^# EXAMPLES$/ } /^```$/ { inside = !inside; next } inside && examples' "$1" |
        sed 's/\\\\/\\/g' ;;
    *) awk '/^<!-- not run: .+ -->$/ { idle = 1; next } /^```/ { inside = /^```sh$/ && !idle && !inside; idle = 0; next }
        inside' "$1" ;;
    esac
}

if [ "$1" = --all ]; then
    cd "$2"
    product=$(ninja -C "$3" -t query product)
    complaints=$(for page in *.md docs/*.md man/*.scd; do
        commands=$(commands_of "$page")
        [ -n "$commands" ] || continue
        [[ " $* " = *" $page "* ]] || echo "nobody runs the commands of $page"
        for program in $(grep -oE '\bbuild/[[:alnum:]_/-]+' <<<"$commands" | sort -u | grep -v ^build/bench/); do
            grep -q " ${program#build/}\$" <<<"$product" || echo "$page: scripts/setup does not build $program"
        done
        first=$(grep -m 1 -oE '^\. scripts/mpi-env|mpirun' <<<"$commands") || :
        [[ $first != mpirun || $page = *.scd ]] || echo "$page: mpirun as root wants scripts/mpi-env.sh before it"
    done)
    echo "$complaints"
    [ -z "$complaints" ]
    exit
fi
page=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
ln -s "$2"/{scripts,data,apps,bindings} "$tmp"
ln -s "$3" "$tmp/build"
commands_of "$page" >"$tmp/commands"
if [ ! -s "$tmp/commands" ]; then
    echo "$page: holds no shell commands"
    exit 1
fi
cd "$tmp"
# The page itself must set root's permission for mpirun and the library folders that Meson adds for tests.
unset "${!OMPI_ALLOW_@}" "${!PRTE_ALLOW_@}"
LD_LIBRARY_PATH=$(tr : '\n' <<<"${LD_LIBRARY_PATH-}" | grep -v -F "$3" | paste -s -d :)
export LD_LIBRARY_PATH
case $page in
*.scd)
    source scripts/mpi-env.sh
    source scripts/build-env.sh
    ;;
esac
if ! bash -eux commands >said 2>&1; then
    tail -n 20 said
    echo "$page: the last command above fails"
    exit 1
fi
while IFS= read -r line; do
    grep -qxF -e "$line" said || {
        echo "$page: the commands do not print: $line"
        exit 1
    }
done < <(awk '/^prints( among other lines)?$/ { wanted = 1 }
    /^```/ { wanted = wanted && !inside; inside = wanted; next }
    inside' "$page")
echo "$(grep -c '^+ ' said) commands of $(basename "$page") ran"
