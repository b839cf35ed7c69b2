#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: commit.sh SOURCE
# Reports name the commit of the tree, with a mark if files differ from it; outside a repository of its own there is no
# commit. An output that is up to date keeps its time stamp, so that files that include it are not recompiled.
set -u
source "$(dirname "${BASH_SOURCE[0]}")/../helpers/check.sh"
make=$1/apps/shell/commit.sh
template=$1/apps/shell/commit.h.in
command -v git >/dev/null || {
    echo 'git is not installed'
    exit 77
}
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
unset GIT_DIR GIT_WORK_TREE

in_tree()
{
    git -C "$tmp/a tree" -c user.name=nobody -c user.email=nobody@example.org "$@" >/dev/null
}

# expect PATTERN FOLDER
expect()
{
    "$make" "$2" "$template" "$tmp/commit.h" "$tmp/commit.h.d" || fail "status $? in $2"
    grep -q -E "^#define APP_COMMIT \"$1\"\$" "$tmp/commit.h" || fail "not $1 in $2: $(grep define "$tmp/commit.h")"
}

mkdir -p "$tmp/a tree/below"
echo 'int one;' >"$tmp/a tree/one.c"
expect unknown "$tmp/a tree"
in_tree init
expect unknown "$tmp/a tree"
in_tree add one.c
in_tree commit -m one
expect '[0-9a-f]{12}' "$tmp/a tree"
grep -q -F "$(echo "$tmp/a tree/one.c" | sed 's/ /\\ /g')" "$tmp/commit.h.d" || fail "not asked again: $(cat "$tmp/commit.h.d")"
touch -d '2001-01-01' "$tmp/commit.h"
expect '[0-9a-f]{12}' "$tmp/a tree"
[ "$(stat -c %Y "$tmp/commit.h")" -lt 1000000000 ] || fail 'the same commit is written again'
# A tarball unpacked in the tree of another project.
expect unknown "$tmp/a tree/below"
echo 'int two;' >"$tmp/a tree/one.c"
expect '[0-9a-f]{12}-dirty' "$tmp/a tree"
in_tree commit -a -m two
in_tree tag v1.2.3
expect v1.2.3 "$tmp/a tree"
in_tree tag -d v1.2.3
in_tree tag 'v"|'
expect unknown "$tmp/a tree"
finish
