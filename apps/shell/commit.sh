#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# usage: commit.sh SOURCE TEMPLATE OUTPUT DEPFILE
# Makes commit.h: `git describe` of the tree, "-dirty" where files differ from it; "unknown" outside of a repository of
# its own, as in a tarball, which may have been unpacked within somebody else's. DEPFILE tells when to ask again: when the
# commit or a source is another one. To ask always would leave no build without work to do.
set -eu
source=$1 template=$2 output=$3 depfile=$4
commit=unknown
after=
if prefix=$(git -C "$source" rev-parse --show-prefix 2>/dev/null) && [ -z "$prefix" ]; then
    # No index is written: other processes may use the tree.
    commit=$(GIT_OPTIONAL_LOCKS=0 git -C "$source" describe --always --tags --dirty --abbrev=12 2>/dev/null) || commit=unknown
    after=$(cd "$source" && { git rev-parse --git-path logs/HEAD && git ls-files -- '*.c' '*.h'; } |
        sed -e "/^\//!s|^|$(pwd)/|" -e 's/[ $#]/\\&/g' | tr '\n' ' ')
fi
# A tag may hold what ends a text in C, or means something to sed.
case "$commit" in
*[!A-Za-z0-9._+-]*) commit=unknown ;;
esac
echo "$output: $after" >"$depfile"
sed "s|@COMMIT@|$commit|" "$template" >"$output.new"
if cmp -s "$output.new" "$output"; then
    rm "$output.new"
else
    mv "$output.new" "$output"
fi
