#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs side by side in one folder: nothing is lost and nothing is mixed. A name in use is refused with its holder; each
# stopped run has a restart file of its own and goes on; a killed run leaves whole snapshots and whole rows, and the next
# run of its names removes the rest.
# usage: side_by_side.sh ENDING KIND OPTION...   KIND: of --generate; K in it is the number of the run, 6 to 8
source "$(dirname "$0")/../helpers/lib.sh"
ending=$1 kind=$2 options=("${@:3}" --quiet)
name=$(basename "$APP")

# begin K: an endless run that has written its first snapshots; its process is ${pid[K]}.
begin()
{
    "$APP" --generate "${kind//K/$1}" "${options[@]}" --steps 100000000 --output "out-$1$ending" --output-every 4 \
        --report "report-$1" --forces "forces-$1.hdf5" >/dev/null 2>"said-$1" &
    pid[$1]=$!
    for _ in $(seq 6000); do
        [ -f "out-$1_000008$ending" ] && return
        sleep 0.1
    done
    fail "no eighth step after ten minutes: $(cat "said-$1")"
}

# taken OPTION K NAME: is refused, since run K has the name.
taken()
{
    run 1 --generate "${kind//K/6}" "${options[@]}" --steps 1 "--$1" "$3"
    [ $? -eq 2 ] && [ "$(wc -l <err)" -eq 1 ] &&
        grep -q "^$name: --$1: .*: in use by $name, process ${pid[$2]} on [^ ]*$" err || fail "--$1 $3: $(cat err)"
}

for k in 6 7 8; do
    begin $k
done
taken output 6 "out-6$ending"
taken report 7 report-7
taken forces 8 forces-8.hdf5
kill -KILL "${pid[8]}"
kill -TERM "${pid[6]}" "${pid[7]}"
for k in 6 7 8; do
    wait "${pid[k]}"
    [ $? -eq $((k == 8 ? 137 : 143)) ] || fail "another status of run $k: $(cat said-$k)"
done
[ "$(sed -n 's/.* go on with --restart //p' said-6 said-7 | sort -u | wc -l)" -eq 2 ] || fail "$(cat said-6 said-7)"
for k in 6 7; do
    read -r step file < <(sed -n 's/.*stopped [a-z]* step \([0-9]*\); go on with --restart /\1 /p' said-$k)
    expect 1 --restart "$file" --steps $((step + 1)) --quiet --report again
    [ "$name" != barneshut ] || [ "$(value again/report.json particles)" = "60$k" ] || fail "$file is not of run $k"
done
# The newest snapshot may lack one of its files.
for file in $(find . -name "out-8_*$ending" | sort | head -n -1); do
    step=${file##*_}
    expect 1 --restart "$file" --steps $((10#${step%"$ending"} + 1)) --quiet
done
for k in 6 7 8; do
    sed '$d' report-$k/loads.csv | awk -F, 'NR == 1 { n = NF } NF != n { exit 1 }' || fail "loads.csv of run $k"
done
expect 1 --generate "${kind//K/8}" "${options[@]}" --steps 1 --output "out-8$ending" --report report-8 --forces forces-8.hdf5
[ -z "$(find . -name '*.lock' -o -name '*.part')" ] || fail "left behind: $(find . -name '*.lock' -o -name '*.part')"
finish
