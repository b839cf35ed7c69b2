#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The program feedback: its table, the published numbers in it, what it refuses.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# table_is FILE: that the last run printed it, load differences to four digits.
table_is()
{
    awk -F'\t' -v OFS='\t' 'NR > 1 {$5 = sprintf("%.3e", $5)} 1' out >rounded
    diff rounded "$1" || fail "another table than expected"
}

expect 1 --function 1 --iterations 500000 --procs 2,8,16,32,64,128,256,1024,4096
cat >published <<'EOF'
function	iterations	procs	steps	load_difference
1	500000	2	9	1.519e-06
1	500000	8	7	1.894e-06
1	500000	16	5	3.618e-06
1	500000	32	5	2.107e-06
1	500000	64	4	2.661e-06
1	500000	128	3	2.843e-06
1	500000	256	3	3.249e-06
1	500000	1024	2	3.557e-06
1	500000	4096	2	3.844e-06
EOF
table_is published

expect 1 --function=2 --iterations=500000 --procs=64
printf 'function\titerations\tprocs\tsteps\tload_difference\n2\t500000\t64\t2\t1.200e-04\n' >published
table_is published

# With a line for each step the last one is the steps of the short table; the smallest is its load difference.
expect 1 --function 3 --iterations 20000 --procs 7,50
cp out short
expect 1 --function 3 --iterations 20000 --procs 7,50 --history
awk -F'\t' -v OFS='\t' 'NR == 1 {print; next} $3 != procs && procs {print last} $3 != procs {least = $5 + 1}
    {procs = $3} $5 + 0 <= least {least = $5 + 0; text = $5} {$5 = text; last = $0} END {print last}' out >joined
diff joined short || fail "steps and the table differ"

# The guarded rule goes where the paper's stops at once.
expect 1 --function 3 --procs 8
paper=$(awk -F'\t' 'NR == 2 {print $5}' out)
[ "$(awk -F'\t' 'NR == 2 {print $4}' out)" -eq 1 ] || fail "the paper's rule goes past a bad step"
expect 1 --function 3 --procs 8 --rule guarded
guarded=$(awk -F'\t' 'NR == 2 {print $5}' out)
awk -v a="$guarded" -v b="$paper" 'BEGIN {exit !(a < b / 10)}' || fail "guarded: $guarded, paper: $paper"

# Two ranks: the boundary goes from the middle to half of the load, at 500,000 / sqrt(2).
expect 1 --function 1 --iterations 500000 --procs 2 --data 100
[ "$(head -n 1 out)" = "$(printf 'function\titerations\tprocs\tsteps\tload_difference\tmoved')" ] || fail "no column for data"
awk -F'\t' 'NR == 2 {exit !($6 >= 100 * 103553 && $6 < 100 * 103600)}' out || fail "moved: $(cat out)"

refused 'data' --data -1
refused 'data' --data 5 --history
refused 'function' --function 0
refused 'function' --function 6
refused 'function' --function sine
refused 'iterations' --iterations 0
refused 'iterations' --iterations 1e6
refused 'iterations.* 500000000' --iterations 500000001
refused 'iterations' --iterations 2147483647 --procs 4
refused 'procs.* 10000000' --procs 4,10000001
refused 'procs' --procs 0
refused 'procs' --procs 2,,4
refused 'procs' --procs 2,x
refused 'procs' --procs -4
refused 'rule' --rule newest
refused 'steps' --steps -1
refused 'threshold' --threshold -0.1
refused 'threshold' --threshold nan
refused 'patience' --patience 0
refused 'colour' --colour
refused 'snapshot' snapshot
refused 'procs' --procs

# A table whose first line fails has no header either. Sanitizers need more room than they are given here.
if (ulimit -v 500000 && "$APP" --version) >out 2>err; then
    (ulimit -v 500000 && "$APP" --function 2 --iterations 25000000 --procs 10000000) >out 2>err
    status=$?
    [ "$status" -eq 1 ] || fail "status $status without memory"
    [ ! -s out ] || fail "a table without memory: $(cat out)"
    [ "$(wc -l <err)" -eq 1 ] || fail "not one line without memory: $(cat err)"
fi

expect 1 --help
grep -q -- '--iterations' out || fail "no help"
expect 1 --version
grep -q '^feedback [0-9]' out || fail "no version"
finish
