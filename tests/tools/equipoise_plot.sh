#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# equipoise-plot from the outside: what it writes, its exit status, one line for each mistake and then no file.
# usage: equipoise_plot.sh EQUIPOISE_PLOT
set -eu
plot=$(realpath "$1")

fail()
{
    echo "equipoise-plot: $*" >&2
    exit 1
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"

header=step,rank,load,method,predicted,particles
# loads RANKS STEPS: rank 0 has twice the load of the others.
loads()
{
    echo $header
    for ((step = 0; step < $2; step++)); do
        for ((rank = 0; rank < $1; rank++)); do
            echo "$step,$rank,$((rank == 0 ? 2 : 1)),\"a,b\",1.5,512"
        done
    done
}
loads 4 3 >four.csv
loads 1 3 >one.csv
loads 200 1 >many.csv

# refused TEXT ARGUMENT...
refused()
{
    local text=$1 status=0
    shift
    "$plot" "$@" >said 2>&1 || status=$?
    [ $status = 2 ] || fail "exit status $status instead of 2: $*"
    [ "$(wc -l <said)" = 1 ] || fail "not one line: $(cat said)"
    grep -q -F -e "$text" said || fail "'$(cat said)' does not say '$text'"
    [ ! -e out ] || fail "something is written in spite of: $(cat said)"
}
refused "OUTDIR is missing"
refused "OUTDIR is empty" "" a=four.csv
refused "LABEL=LOADS.CSV is missing" out
refused "--title: no such option" --title x out a=four.csv
for argument in four.csv =four.csv a= ""; do
    refused "not of the form" out "$argument"
done
refused "a: two runs have this label" out a=four.csv b=one.csv a=many.csv
refused "nothing.csv: No such file" out a=four.csv b=nothing.csv
refused ".: is a directory" out a=.
refused "four.csv: cannot" four.csv a=four.csv
: >bad.csv && refused "bad.csv: holds no loads" out a=bad.csv
# damaged TEXT LINE...
damaged()
{
    local text=$1
    shift
    printf '%s\n' "$@" >bad.csv
    refused "bad.csv: $text" out a=bad.csv
}
damaged "holds no loads" $header
damaged "not a loads.csv: there is no column 'load'" step,rank,predicted 0,0,1
damaged "line 2: load is not" $header 0,0,nan,x,1,1
damaged "line 2: load is not" $header 0,0,-1,x,1,1
damaged "line 2: step or rank" $header 0,zero,1,x,1,1
damaged "line 2: predicted is not" $header 0,0,1,x,much,1
damaged "line 3: particles" $header 0,0,1,x,1,1 0,1,1,x,1,1.5
damaged "line 3: the row is too short" $header 0,0,1,x,1,1 1,0,1
damaged "line 2: rows are not" $header 0,1,1,x,1,1
damaged "line 3: rows are not" $header 0,0,1,x,1,1 0,0,1,x,1,1
damaged "line 3: rows are not" $header 1,0,1,x,1,1 0,0,1,x,1,1
damaged "line 5: the step before has too few" $header 0,0,1,x,1,1 0,1,1,x,1,1 1,0,1,x,1,1 2,0,1,x,1,1
damaged "line 4: the step has more" $header 0,0,1,x,1,1 1,0,1,x,1,1 1,1,1,x,1,1

"$plot" --help | grep -q "^Usage: equipoise-plot OUTDIR LABEL=LOADS.CSV" || fail "--help"
"$plot" --version | grep -q -E '^equipoise-plot [0-9]+\.[0-9]+\.[0-9]+$' || fail "--version"

# What the system says when a file may not grow; the old script stays.
mkdir old && echo old | tee old/plots.gp >old/loads.png
(ulimit -f 1 && exec "$plot" old a=four.csv 2>said) && fail "a script that cannot be written is no failure"
grep -q -x "equipoise-plot: old/plots.gp: cannot be written: File too large" said || fail "a full disk: $(cat said)"
[ "$(cat old/plots.gp)" = old ] || fail "a full disk has cost the old script"

# Without gnuplot: one line, and what gnuplot needs later.
mkdir empty
PATH=$tmp/empty "$plot" out a=four.csv 2>said || fail "fails without gnuplot"
[ "$(wc -l <said)" = 1 ] || fail "without gnuplot, not one line: $(cat said)"
grep -q "gnuplot is not installed" said || fail "without gnuplot: $(cat said)"
[ "$(ls out)" = plots.gp ] || fail "without gnuplot there is more than plots.gp"

if ! command -v gnuplot >/dev/null; then
    echo "gnuplot is not installed"
    exit 77
fi
check_plots()
{
    local file
    for file in loads imbalance; do
        [ "$(head -c 4 "$1/$file.png" | tail -c 3)" = PNG ] || fail "$1/$file.png is no PNG"
        tail -n 3 "$1/$file.svg" | grep -q '</svg>' || fail "$1/$file.svg is not complete"
    done
}
"$plot" "new folder/it's" "it's=four.csv" one=one.csv "200 ranks=many.csv" 2>said || fail "$(cat said)"
[ ! -s said ] || fail "speaks: $(cat said)"
check_plots "new folder/it's"
for name in four one many; do
    "$plot" -- "$name" sfc="$name.csv" 2>said || fail "$name: $(cat said)"
    check_plots "$name"
done
# The script draws the same plots again, wherever it is.
mkdir again
cp four/plots.gp again/
(cd again && gnuplot plots.gp) || fail "plots.gp does not draw"
for file in four/*; do
    cmp "$file" "again/${file#*/}" || fail "plots.gp draws another ${file#*/}"
done

# The end of a run that was killed while it wrote, or that goes on, is left out: the same plots.
"$plot" cut four=four.csv
cp -r cut whole
for end in '3,0,2,"a,b",1.5,512\n3,1,1,"a' '3,0' '3,0,2,"a,b",1.5,512\n'; do
    # shellcheck disable=SC2059 # with line feeds
    { cat four.csv && printf "$end"; } >cut.csv
    "$plot" cut four=cut.csv 2>said || fail "a run that was cut off: $(cat said)"
    cmp whole/plots.gp cut/plots.gp || fail "the end '$end' is drawn"
done

# Images that a disk has no room for: the old ones stay.
echo old | tee old/loads.svg old/imbalance.png >old/imbalance.svg
(ulimit -f 8 && exec "$plot" old a=four.csv 2>said) && fail "images that cannot be written are no failure"
grep -q "no plots" said || fail "a full disk: $(cat said)"
for file in old/loads.png old/loads.svg old/imbalance.png old/imbalance.svg; do
    [ "$(cat $file)" = old ] || fail "a full disk has cost the old $file"
done
[ "$(ls -A old | wc -l)" = 5 ] || fail "left on a full disk: $(ls -A old)"

# A link is followed: the file behind it is replaced.
mkdir linked
for file in plots.gp loads.png loads.svg imbalance.png imbalance.svg; do
    echo mine >"mine.$file"
    ln -s "../mine.$file" "linked/$file"
done
"$plot" linked four=four.csv || fail "links"
for file in plots.gp loads.png loads.svg imbalance.png imbalance.svg; do
    [ "$(cat "mine.$file")" != mine ] || fail "mine.$file is the old one"
    [ -L "linked/$file" ] || fail "the link linked/$file is gone"
done

# Names that gnuplot or a shell would execute, words of its enhanced mode, and every byte that a name can have: nothing
# is executed, and the legend says what was given, with ? for what is no letter.
every=$(printf '%b' "$(printf '\\x%02x' $(seq 1 46) $(seq 48 255))")
names=('<touch pwned' '| touch pwned' '`touch pwned`' '$(touch pwned)' "'; system('touch pwned'); '"
    '"; system("touch pwned"); "' $'\nsystem "touch pwned"\n' $'EOD\n!touch pwned' "\\'" '@x^{y}_z & &lt; %s' '$data' '-'
    $'\xff\xc3 \xed\xa0\x80 \xf5\x80\x80\x80 \u2264' "$every")
for dir in '<touch pwned `touch pwned`' "$every"; do
    mkdir "$dir"
    runs=()
    for name in "${names[@]}"; do
        cp four.csv "$dir/$name"
        runs+=("${name//=/}=$dir/$name")
    done
    "$plot" "$dir" "${runs[@]}" 2>said || fail "odd names: $(cat said)"
    check_plots "$dir"
    python3 - "$dir" "${names[@]//=/}" <<'EOF' || fail "the legend of odd names"
import os, sys
from xml.etree import ElementTree
for name in map(os.fsencode, sys.argv[2:]):
    if len(name) > 40:
        name = name[:20] + b"..." + name[-20:]
    shown = "".join("?" if c < " " or "\x7f" <= c < "\xa0" or "\udc80" <= c <= "\udcff" else c
                    for c in name.decode(errors="surrogateescape"))
    for image in ("loads", "imbalance"):
        texts = ["".join(text.itertext()).strip()
                 for text in ElementTree.parse(f"{sys.argv[1]}/{image}.svg").iter("{http://www.w3.org/2000/svg}text")]
        assert shown.strip() in texts, (shown, texts)
EOF
done
[ -z "$(find . -name pwned)" ] || fail "executed: $(find . -name pwned)"
