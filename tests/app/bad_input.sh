#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Invalid input gives one line with the error and its place, status 2 on every rank, and no output file.
source "$(dirname "$0")/../helpers/lib.sh"

: >empty
mkdir folder
printf 'not a snapshot at all, only words\n' >words
head -c 1000 /dev/urandom >noise
printf '1 0 0 0 0 0 0\n1 1 0 0 0 0 0\n' >good.txt
printf '1 0 0 0 0 0 0\n1 nan 0 0 0 0 0\n' >nan.txt
printf '1 0 0 0 0 0 0\n1 inf 0 0 0 0 0\n' >infinite.txt
printf '1 0 0 0 0 0 0\n1 2 3\n' >short.txt
printf '1e308 0 0 0 0 0 0\n1e308 1 0 0 0 0 0\n' >heavy.txt
printf -- '-1 0 0 0 0 0 0\n' >negative.txt
expect 1 --generate plummer:n=200 --steps 0 --output whole.hdf5 --quiet
expect 1 --generate plummer:n=200 --steps 2 --output later.hdf5 --quiet
rm -f whole.xdmf later.xdmf
head -c 3000 whole.hdf5 >truncated.hdf5

refused_by_all missing missing --steps 0
refused empty empty --steps 0
refused folder folder --steps 0
refused words words --steps 0
refused_by_all noise noise --steps 0
refused_by_all 'nan.txt.*1' nan.txt --steps 0
refused 'infinite.txt.*1' infinite.txt --steps 0
refused short.txt short.txt --steps 0
refused negative.txt negative.txt --steps 0
refused_by_all truncated truncated.hdf5 --steps 0
refused words --restart words
refused 'no restart file' --restart good.txt
refused SNAPSHOT --steps 1
refused exclude whole.hdf5 --generate plummer
refused_by_all sideways whole.hdf5 --balance sideways
refused 'rebalance' whole.hdf5 --rebalance sometimes
refused_by_all 'dt' whole.hdf5 --dt -1
refused 'theta' whole.hdf5 --theta 0
refused 'cutoff' whole.hdf5 --cutoff 0
refused_by_all 'exclude' whole.hdf5 --cutoff 1 --theta 0.6
refused 'exclude' whole.hdf5 --cutoff 1 --opening geometric
refused 'exclude' whole.hdf5 --alpha 0.1 --cutoff 1
refused 'nonsense' whole.hdf5 --nonsense
refused_by_all 'generate' --generate spiral
refused_by_all 'cannot\|No such' whole.hdf5 --steps 0 --report whole.hdf5/report
refused_by_all 'nowhere' whole.hdf5 --steps 0 --output nowhere/out.hdf5
refused 'nowhere' whole.hdf5 --steps 0 --forces nowhere/forces.hdf5
refused 'nowhere' whole.hdf5 --steps 0 --report report --forces nowhere/forces.hdf5
refused 'folder' whole.hdf5 --steps 0 --output folder
refused already --restart later.hdf5 --steps 1
refused 'overflow' heavy.txt --steps 0 --dt 1
refused 'no time step' whole.hdf5 --steps 0 --G 1e300
refused null /dev/null --steps 0
refused 'group-size' whole.hdf5 --group-size autos
finish
