#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# usage: sources.sh ROOT
# Prints the files of a source tree, relative to it, each followed by a zero byte. Under version control these are the
# tracked files. In a release they are the folders and top-level names below; programs run in the tree may have left
# further files.
set -eu
folders='.ci .github .reuse LICENSES apps bench bindings cmake data debian docs lib man packaging preload sampling scripts
    tests'
names='*.md LICENSE CITATION.cff pyproject.toml meson.build meson_options.txt .clang-format .gitignore .gitlab-ci.yml
    .woodpecker.yaml'
cd "$1"
# For any owner of the tree. Inside the repository of another project, git does not list our files.
if [ -e .git ] && git -c safe.directory='*' ls-files --error-unmatch . >/dev/null 2>&1; then
    git -c safe.directory='*' ls-files -z | xargs -0 sh -c 'for file; do [ ! -e "$file" ] || printf "%s\0" "$file"; done' sh
    exit
fi
# shellcheck disable=SC2086 # lists of words and patterns
for place in $folders $names; do
    [ ! -e "$place" ] || set -- "$@" "$place"
done
shift
[ $# -eq 0 ] || find "$@" -name __pycache__ -prune -o ! -type d -print0
