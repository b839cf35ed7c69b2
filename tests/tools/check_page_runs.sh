#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Every block of shell commands of a page runs as it stands: one after another, in one shell, each command without error.
# Of a man page's source, these are the blocks under EXAMPLES. The commands see the folders of a source tree and build/,
# find the programs and the libraries of that build, and write into a folder that is removed. A block behind a line
# <!-- not run: REASON --> is left out.
# usage: check_page_runs.sh PAGE SOURCE_ROOT BUILD_ROOT
#        check_page_runs.sh --all SOURCE_ROOT PAGE...   every page that has such blocks is one of these
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
    missing=
    for page in *.md docs/*.md man/*.scd; do
        [ -z "$(commands_of "$page")" ] || [[ " $* " = *" $page "* ]] || missing="$missing $page"
    done
    [ -z "$missing" ] || echo "nobody runs the commands of$missing"
    [ -z "$missing" ]
    exit
fi
page=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
ln -s "$2"/{scripts,data,apps,bindings} "$tmp"
ln -s "$3" "$tmp/build"
export PATH=$3/apps/barneshut:$3/apps/dislocation:$3/apps/loadbench:$3/apps/referee:$3/apps/report:$3/preload:$PATH
export PKG_CONFIG_PATH=$3/meson-uninstalled LD_LIBRARY_PATH=$3/lib:$3/sampling

# Machines with few cores and containers, as for all tests.
source "$2/scripts/mpi-env.sh"
commands_of "$page" >"$tmp/commands"
if [ ! -s "$tmp/commands" ]; then
    echo "$page: holds no shell commands"
    exit 1
fi
cd "$tmp"
if ! bash -eux commands >said 2>&1; then
    tail -n 20 said
    echo "$page: the last command above fails"
    exit 1
fi
echo "$(grep -c '^+ ' said) commands of $(basename "$page") ran"
