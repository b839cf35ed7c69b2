#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# speeds: at the cliff of memory the constant model swings, the partial models settle; bad input is one line, status 2.
source "$(dirname "$0")/lib.sh"

cat >cliff <<'EOT'
# four ranks, two of little memory: RANK SIZE SPEED
0 2400 900
0 2640 30
1 2300 750
1 2530 25
2 5200 850
2 5720 28
3 9000 840
EOT

# iterations: of the table in out. shares N: whether each iteration adds up to N. last: shares of the last one.
iterations()
{
    awk 'NR > 1 { n = $1 + 1 } END { print n + 0 }' out
}

shares()
{
    awk -F '\t' -v n="$1" 'NR == 1 { if ($0 != "iteration\trank\tshare\tseconds") exit 1; next }
        NF != 4 || $3 < 0 { bad = 1 } { sum[$1] += $3 } END { for (i in sum) if (sum[i] != n) bad = 1; exit bad }' out ||
        fail "the table is wrong: $(head -n 3 out)"
}

last()
{
    awk 'NR > 1 { if ($1 != now) { text = ""; now = $1 } text = text " " $3 } END { print text }' out
}

# The largest |ti - tj| / ti of the last iteration, in per cent, rounded up.
spread()
{
    awk 'NR > 1 { if ($1 != now) { now = $1; low = high = $4 } if ($4 < low) low = $4; if ($4 > high) high = $4 }
        END { print int(100 * (high - low) / low + 0.999) }' out
}

for model in piecewise akima; do
    expect 1 --model "$model" --functions cliff --n 11000
    shares 11000
    [ ! -s err ] || fail "words of $model: $(cat err)"
    [ "$(iterations)" -le 10 ] || fail "$model needs $(iterations) iterations"
    [ "$(spread)" -le 5 ] || fail "$model leaves $(spread) %"
    expect 1 --model "$model" --functions cliff --n 11000 --tolerance 0.005
    [ "$(spread)" -le 1 ] || fail "$model leaves $(spread) % instead of half of one"
done

run 1 --model constant --functions cliff --n 11000 --iterations 40
[ $? -eq 1 ] || fail "the constant model settles"
shares 11000
[ "$(iterations)" -eq 40 ] || fail "the constant model stops after $(iterations) iterations"
grep -q 'swing' err && [ "$(wc -l <err)" -eq 1 ] || fail "no word of the swinging: $(cat err)"
awk -F '\t' '$1 == 37 { print $2, $3 }' out >one
awk -F '\t' '$1 == 39 { print $2, $3 }' out >two
cmp -s one two || fail "the shares do not come back"

# Where speed is flat all three agree at once.
for model in constant piecewise akima; do
    expect 1 --model "$model" --functions cliff --n 8000
    [ "$(iterations)" -eq 2 ] || fail "$model needs $(iterations) iterations where speed is flat"
    last >"flat-$model"
done
cmp -s flat-constant flat-piecewise && cmp -s flat-constant flat-akima || fail "models differ where speed is flat"

# Nothing, one rank, more ranks than items.
expect 1 --functions cliff --n 0
shares 0
printf '0 1 5\n' >one-rank
expect 1 --functions one-rank --n 17
shares 17
expect 1 --functions cliff --n 3
shares 3
printf '0 1 1\n1 1 1\n2 1 3\n' >coarse
expect 1 --functions coarse --n 7 --tolerance 0.001
shares 7
expect 1 --help
grep -q 'RANK SIZE SPEED' out || fail '--help does not say what a file holds'
expect 1 --version

rm -f one two flat-*
: >empty
mkdir folder
printf '0 1\n' >short
printf '0 1 fast\n' >words
printf '0 1 0\n' >still
printf '0 1 -3\n' >backwards
printf '0 2 1\n0 1 1\n' >unsorted
printf '0 1 1\n2 1 1\n' >gap
printf '0 1 nan\n' >nan
head -c 5000 /dev/urandom >noise
refused 'empty: holds no speed function' --functions empty --n 5
refused folder --functions folder --n 5
refused missing --functions missing --n 5
refused 'short:1:' --functions short --n 5
refused 'words:1: fast' --functions words --n 5
refused 'still:1: 0' --functions still --n 5
refused 'backwards:1: -3' --functions backwards --n 5
refused 'unsorted:2:' --functions unsorted --n 5
refused 'gap:2:' --functions gap --n 5
refused 'nan:1:' --functions nan --n 5
refused 'noise' --functions noise --n 5
refused 'not a regular file' --functions /dev/zero --n 5
truncate -s 70M huge
refused 'too large' --functions huge --n 5
refused functions --n 5
refused ' --n' --functions cliff
refused ' --n' --functions cliff --n -1
refused ' --n' --functions cliff --n 1.5
refused ' --n' --functions cliff --n 9007199254740993
refused model --functions cliff --n 5 --model linear
refused tolerance --functions cliff --n 5 --tolerance 0
refused tolerance --functions cliff --n 5 --tolerance nan
refused iterations --functions cliff --n 5 --iterations 0
refused positional-thing --functions cliff --n 5 positional-thing
if [ -c /dev/full ]; then
    "$APP" --functions cliff --n 11000 >/dev/full 2>err
    [ $? -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] || fail 'a full disk is not told'
fi
finish
