#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs that cannot be divided are refused in one line with status 2, before they run.
# usage: APP=equipoise-lazy refuse.sh WORLD LIBRARY COMPILER...
source "$(dirname "$0")/../helpers/lib.sh"
world=$1 library=$2
shift 2
compiler=("$@")

refused 'no number of ranks' -n -1 "$world"
refused 'no number of ranks' -n 2x "$world"
refused 'no number of ranks' -n 99999999999 "$world"
refused 'n M is missing' "$world"
refused 'no program' -n 1
refused "spread: 'far' is neither" -n 1 --spread far "$world"
refused "patience: '0' is no number" -n 1 --patience 0 "$world"
refused "'--what' is no option" -n 1 --what "$world"
refused './nowhere: is not there' -n 1 ./nowhere
refused 'no-such-program: is not there' -n 1 no-such-program
refused "$work: is not there" -n 1 "$work"

# Messages about the world, by the launcher if it knows the size, else by the library.
refused_on 3 'n 3 leaves no rank of 3' -n 3 "$world"
refused '1 balancers leave no rank of 1' -n 1 "$world"
refused_on 2 "balance: 'interaction' is no method" -n 1 --balance interaction "$world"
refused_on 2 "balance: 'nothing' is no method" -n 1 --balance nothing "$world"

# Programs and the answers of --check.
cat >main.c <<'EOT'
int PMPI_Init(int *, char ***), MPI_Finalize(void);
int main(void)
{
#ifdef TOOL
    PMPI_Init(0, 0);
#endif
#ifdef OTHER
    MPI_Finalize();
#endif
    return 0;
}
EOT
echo 'int PMPI_Init(int *c, char ***v) { return !c && !v; } int MPI_Finalize(void) { return 0; }' >mpi.c
"${compiler[@]}" main.c -o plain
"${compiler[@]}" -shared -fPIC mpi.c -Wl,-soname,libmpich.so.99 -o libmpich.so.99
"${compiler[@]}" -DOTHER main.c ./libmpich.so.99 -o other -Wl,-rpath,"$work"
"${compiler[@]}" -DTOOL main.c ./libmpich.so.99 -o tool -Wl,-rpath,"$work"
refused 'is no MPI program' -n 0 ./plain
refused 'another MPI: it needs libmpich.so.99' -n 0 ./other
refused 'calls PMPI_Init by itself' -n 0 ./tool
if "${compiler[@]}" -static main.c -o static 2>/dev/null; then
    refused 'is linked statically' -n 0 ./static
fi
cp "$world" setuid && chmod u+s setuid
refused 'is setuid' -n 0 ./setuid
head -c 200 "$world" >half && chmod +x half
refused 'half: is' -n 0 ./half
: >empty && chmod +x empty
printf '#!/bin/sh\nexec "$@"\n' >script && chmod +x script
for check in "can be divided:$world" 'may be divided.*script:./script' 'may be divided.*read:./empty'; do
    said=${check%%:*}
    run 1 -n 1 --check "${check#*:}" || fail "--check of ${check#*:}: status $?"
    grep -q "$said" out || fail "--check of ${check#*:}: $(cat out err)"
done
refused 'is no MPI program' -n 1 --check ./plain
mkdir 'two words' && cp "$APP" "$library" 'two words'
APP='two words/equipoise-lazy' refused 'takes no path with a blank' -n 0 "$world"
expect 2 -n 1 --report steps.csv ./script "$world" steps
[ -s steps.csv ] || fail "a script's program is not divided: $(cat out err)"

# Below another kind of launcher the library prints the message.
EQP_LAZY_BALANCERS=one LD_PRELOAD=$library "$world" >out 2>err
[ $? -eq 2 ] && grep -q "'one' is no number" err || fail "EQP_LAZY_BALANCERS=one: $(cat err)"
finish
