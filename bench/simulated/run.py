#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Steps of an app on a simulated cluster, independent of this project's models.

Builds barneshut and dislocation, unchanged, for SMPI of SimGrid 3.32 (Debian's libsimgrid-dev) below build-simulated/
and runs them on N nodes with R ranks each. All ranks are real and compute in one process; the network, the collective
calls and the waiting are the simulator's. Prints a row for each N and R:

  step_ms     simulated time of a step, the median of all but the first two, up to the last rank's end
  forces      CPU time in forces, of all ranks' time
  outside     CPU time outside forces, relative to that in forces
  efficiency  time of a step of one rank that has all, over ranks times step (--alone)
  longest_ms  CPU time in a step of the rank that has most of it
  blocking, nonblocking, messages, bytes    collective calls and point-to-point messages in a step, of the rank that has most
  exchanged, exchanged_bytes                messages and bytes of forces by the app's own report, of all ranks
  peak_mb     most memory that a rank had allocated

--mode counted (default): work is the price of the instructions that ran, by a table; two runs agree to the digit.
--mode measured: work is CPU time on this machine; medians of --repeats runs.

  bench/simulated/run.py --nodes 16,64 -- --generate clusters:n=131072 --balance sfc --rebalance never
  bench/simulated/run.py --app dislocation --nodes 4 --ranks 16 --alone -- --generate chains:n=20
"""
import argparse
import array
import csv
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, 'preload'))
import wrap  # pylint: disable=wrong-import-position

# Prices in picoseconds, fitted to the CPU times of a step of 32,768 particles on one rank, forces and the rest.
PLAIN, VECTOR, DIVISION, OTHERS_CODE = 70, 140, 1900, 3000
UNIT = 10  # of the table in picoseconds

# The simulated machine. A node's ranks have a core each.
NEAR_LATENCY, NEAR_BANDWIDTH = 0.3e-6, 8e9
SEND = 2e-7  # CPU seconds of a message at each end
SETTINGS = {
    'smpi/privatization': 'dlopen', 'smpi/host-speed': '1Gf', 'smpi/simulate-computation': 'no',
    # judge.c sleeps after a failed poll. SimGrid's own sleep grows with the failed polls of all ranks.
    'smpi/test': '0', 'smpi/iprobe': '0', 'smpi/grow-injected-times': 'no',
    # Latency and bandwidth as given: the default corrects them for a cluster with Ethernet of 2010.
    'smpi/lat-factor': '0:1', 'smpi/bw-factor': '0:1', 'network/weight-S': '0', 'network/crosstraffic': '0',
    'network/TCP-gamma': '1e12',
    'smpi/os': f'0:{SEND}:0', 'smpi/ois': f'0:{SEND}:0', 'smpi/or': f'0:{SEND}:0',
    'smpi/coll-selector': 'ompi', 'smpi/allgatherv': 'ompi_bruck',  # the selected one divides by 0
}

WRAPPED = ('clock_gettime nanosleep sched_yield syscall malloc calloc realloc posix_memalign aligned_alloc free memcpy memmove '
           'memset eqp_node_meet eqp_balancer_record').split()
BY_HAND = 'Iallreduce Ibarrier Test Wait Probe Improbe Mprobe Mrecv Imrecv Win_allocate_shared Win_shared_query Win_free Finalize'.split()
LOCAL = re.compile('MPI_(Init|Abort|Comm_(rank|size|free|get|set|create_keyval|free_keyval|set_errhandler|test)|Type_|Op_|'
                   'Get_(count|elements|processor|version|library)|Win_(set|get)|Info_|Group_|Cart_(rank|coords|get)|'
                   'Dims_|Error_|Query|Is_|Finalized|Initialized|Address|Attr_|Keyval)')
COLLECTIVE = [*wrap.COLLECTIVE, *'Comm_dup Comm_split Comm_split_type Comm_create Cart_create Win_create Win_allocate'.split()]
MESSAGE = 'Send Ssend Isend Issend Bsend Ibsend Rsend'.split()
COLUMNS = 'end work forces blocking nonblocking messages bytes peak exchanged exchanged_bytes'.split()


def call(*words, **more):
    done = subprocess.run(words, capture_output=True, text=True, check=False, **more)
    if done.returncode:
        sys.exit(f'{words[0]} failed:\n{(done.stdout + done.stderr)[-4000:]}')
    return done.stdout


def wrapper(function):
    """C text of a function that counts as a call, hands the work before it over and sleeps if a poll finds nothing."""
    stem, names = function.name.removeprefix('MPI_'), [p.name for p in function.parameters]
    kind, n, of = 'CALL', '0', 'MPI_BYTE'
    if stem in MESSAGE:
        kind, n, of = 'MESSAGE', 'count', 'datatype'
    elif stem in COLLECTIVE:
        kind = 'BLOCKING'
    elif stem[:1] == 'I' and stem[1:].capitalize() in COLLECTIVE:
        kind = 'NONBLOCKING'
    made = ''.join(f'    adopt(*{p.name});\n' for p in function.parameters if p.type == 'MPI_Comm*' and stem != 'Comm_free')
    return (f'int {function.name}({", ".join(p.declared() for p in function.parameters)})\n{{\n'
            f'    enter({kind}, {(function.comms or ["MPI_COMM_NULL"])[0]}, {n}, {of});\n'
            f'    const int code = P{function.name}({", ".join(names)});\n{made}'
            f'    leave({"flag" if "flag" in names else "NULL"});\n    return code;\n}}\n')


def wrappers(used):
    """C text: a wrapper of each MPI function in `used` that can take time."""
    header = call('gcc', '-E', '-include', 'mpi.h', '-I/usr/include/smpi', '-x', 'c', '/dev/null')
    return '\n'.join(wrapper(function) for name, function in wrap.functions_of(header).items()
                     if name in used and not LOCAL.match(name) and name.removeprefix('MPI_') not in BY_HAND)


def price_of(instruction):
    word = instruction.split(None, 1)[0]
    if 'div' in word or 'sqrt' in word:
        return DIVISION
    if word.startswith('call') and '@plt' in instruction:
        return OTHERS_CODE
    if word.startswith(('nop', 'endbr')) or (word.startswith(('mov', 'vmov')) and '(%rsp)' in instruction):
        return 0  # registers are saved for the call that counts
    return VECTOR if '%ymm' in instruction or '%zmm' in instruction else PLAIN


def write_prices(program, path):
    """For each byte of the program, the price of the block whose counting call returns there."""
    size = os.path.getsize(program)
    price = array.array('H', bytes(2 * size))
    at, due, returns = None, 0, False
    for line in call('objdump', '-d', '--no-show-raw-insn', program).splitlines():
        head, tab, instruction = line.partition(':\t')
        if not tab:
            at, due = (None, 0) if line.endswith('>:') else (at, due)
            continue
        if returns:
            at, returns = int(head, 16), False
        if '__sanitizer_cov_trace_pc' in instruction:
            returns = True
            continue
        due += price_of(instruction)
        if at is not None:
            price[at] = min(65535, price[at] + due // UNIT)
            due %= UNIT
    with open(path, 'wb') as file:
        price.tofile(file)


def configure(build, mode):
    uncounted = os.path.join(build, 'uncounted')  # for the programs that meson links itself; link() puts judge.c there
    with open(uncounted + '.c', 'w', encoding='utf-8') as file:
        file.write('void __sanitizer_cov_trace_pc(void) {}\n')
    call('gcc', '-fPIC', '-c', uncounted + '.c', '-o', uncounted + '.o')
    off = [f'-D{name}=disabled' for name in ('zoltan', 'metis', 'hdf5', 'tests', 'fortran', 'python')]
    flags = '-fPIC -w -U_FORTIFY_SOURCE' + (' -fsanitize-coverage=trace-pc' if mode == 'counted' else '')
    call('meson', 'setup', os.path.join(build, mode), ROOT, '-Db_pie=false', '-Dbench=false', '-Ddefault_library=static',
         f'-Dc_args={flags}', f'-Dc_link_args={uncounted}.o', *off, env={**os.environ, 'SMPI_PRETEND_CC': '1', 'MPICC': 'smpicc'})


def link(build, mode, app):
    """Links an app once more, as the shared object that SMPI loads, with judge.c. Returns its path."""
    folder = os.path.join(build, mode)
    target, linked = f'apps/{app}/{app}', os.path.join(folder, app + '.so')
    call('ninja', '-C', folder, target)
    sources = [os.path.join(folder, target), *(os.path.join(HERE, name) for name in ('judge.c', 'missing.h', 'run.py'))]
    if os.path.exists(linked) and os.path.getmtime(linked) > max(map(os.path.getmtime, sources)):
        return linked
    used = set(re.findall(r'\b[Uw] (MPI_\w+)', call('nm', '-D', '-u', os.path.join(folder, target))))
    with open(os.path.join(folder, 'judged.c'), 'w', encoding='utf-8') as file:
        file.write('#include "judge.c"\n\n' + wrappers(used))
    judge = os.path.join(folder, 'judge.o')
    call('gcc', '-std=c11', '-D_GNU_SOURCE', '-O2', '-Wall', '-Wextra', '-fPIC', '-I/usr/include/smpi', f'-I{HERE}',
         f'-I{ROOT}/lib/include', f'-I{ROOT}/sampling/include', '-c', 'judged.c', '-o', 'judge.o', cwd=folder)
    words = shlex.split(call('ninja', '-C', folder, '-t', 'commands', target).splitlines()[-1])
    words = [w for w in words if w not in ('-o', target) and not w.endswith('uncounted.o')]
    made = linked + '.new'
    call(*words, judge, '-shared', '-Wl,-Bsymbolic', *[f'-Wl,--wrap={name}' for name in WRAPPED], '-o', made, cwd=folder)
    if mode == 'counted':
        write_prices(made, linked + '.prices')
    call('strip', '-o', linked, made)
    os.remove(made)
    return linked


def write_machine(folder, nodes, ranks, latency, bandwidth):
    with open(os.path.join(folder, 'machine.xml'), 'w', encoding='utf-8') as file:
        file.write(f"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="node-" suffix="" radical="0-{nodes - 1}" speed="1Gf" core="{ranks}" bw="{bandwidth}Bps"
    lat="{latency / 2}s" loopback_lat="{NEAR_LATENCY}s" loopback_bw="{NEAR_BANDWIDTH}Bps" sharing_policy="SPLITDUPLEX"/>
</platform>
""")
    with open(os.path.join(folder, 'hosts'), 'w', encoding='utf-8') as file:
        file.writelines(f'node-{i // ranks}\n' for i in range(nodes * ranks))


def simulate(program, mode, nodes, ranks, options, args):
    """Rows of COLUMNS, [rank][step]."""
    with tempfile.TemporaryDirectory() as folder:
        write_machine(folder, nodes, ranks, args.latency, args.bandwidth)
        notes = os.path.join(folder, 'notes')
        env = {**os.environ, 'JUDGE_NOTES': notes, 'JUDGE_NEAR': str(NEAR_LATENCY + 2 * SEND),
               'JUDGE_FAR': str(args.latency + 2 * SEND), 'JUDGE_BYTE': str(1 / args.bandwidth)}
        if mode == 'counted':
            env['JUDGE_PRICES'] = program + '.prices'
        call('smpirun', '-np', str(nodes * ranks), '-platform', 'machine.xml', '-hostfile', 'hosts',
             *[f'--cfg={name}:{value}' for name, value in SETTINGS.items()], f'--cfg=smpi/tmpdir:{folder}',
             '--log=root.thres:error', program, *options, cwd=folder, env=env)
        with open(notes, encoding='utf-8') as file:
            rows = [dict(zip(COLUMNS, map(float, row))) for row in csv.reader(file)]
    steps = len(rows) // (nodes * ranks)
    return [rows[r * steps:(r + 1) * steps] for r in range(nodes * ranks)]


def judge(of):
    """The table's numbers of a run: medians over the steps after the first two."""
    steps = []
    for k in range(2, len(of[0])):
        now, last = [rank[k] for rank in of], [rank[k - 1] for rank in of]
        each = {name: [b[name] - a[name] for a, b in zip(last, now)] for name in COLUMNS[1:7]}
        forces, work = sum(row['forces'] for row in now), sum(each['work'])
        step = max(row['end'] for row in now) - max(row['end'] for row in last)
        steps.append({'step_ms': 1e3 * step, 'forces': forces / (step * len(of)), 'outside': work / forces - 1,
                      'longest_ms': 1e3 * max(each['work']),
                      **{name: max(each[name]) for name in ('blocking', 'nonblocking', 'messages', 'bytes')},
                      **{name: sum(row[name] for row in now) for name in ('exchanged', 'exchanged_bytes')},
                      'peak_mb': max(row['peak'] for row in now) / 1e6})
    if not steps:
        sys.exit('no step to judge: --steps must be at least 3')
    return {name: statistics.median(step[name] for step in steps) for name in steps[0]}


def median_run(program, nodes, ranks, options, args):
    runs = [judge(simulate(program, args.mode, nodes, ranks, options, args))
            for _ in range(1 if args.mode == 'counted' else args.repeats)]
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def numbers(text):
    return [int(word) for word in text.split(',')]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--app', choices=('barneshut', 'dislocation'), default='barneshut')
    parser.add_argument('--nodes', type=numbers, default=[16], metavar='N[,N...]')
    parser.add_argument('--ranks', type=numbers, default=[1], metavar='R[,R...]', help='ranks of a node')
    parser.add_argument('--mode', choices=('counted', 'measured'), default='counted')
    parser.add_argument('--repeats', type=int, default=5, help='runs in measured mode')
    parser.add_argument('--steps', type=int, default=6)
    parser.add_argument('--latency', type=float, default=2e-6, metavar='SECONDS', help='of a message between nodes')
    parser.add_argument('--bandwidth', type=float, default=1e9, metavar='BYTES', help='of a node in a second, each way')
    parser.add_argument('--alone', action='store_true', help='also one rank, for the efficiency')
    parser.add_argument('--build', default=os.path.join(ROOT, 'build-simulated'), metavar='FOLDER')
    parser.add_argument('options', nargs=argparse.REMAINDER, help='-- and options of the app')
    args = parser.parse_args()
    if not shutil.which('smpicc') or not shutil.which('smpirun'):
        print('SimGrid is missing: install libsimgrid-dev')
        return 77
    os.makedirs(args.build, exist_ok=True)
    build = os.path.abspath(args.build)
    if not os.path.exists(os.path.join(build, args.mode, 'build.ninja')):
        configure(build, args.mode)
    program = link(build, args.mode, args.app)
    options = [*args.options[args.options[:1] == ['--']:], '--steps', str(args.steps), '--quiet']
    said = 'counted work, repeats to the digit' if args.mode == 'counted' else f'measured work, medians of {args.repeats} runs'
    print(f'# {args.app} {shlex.join(options)}; {said}; {args.latency:g} s, {args.bandwidth:g} bytes/s')
    alone = median_run(program, 1, 1, options, args)['step_ms'] if args.alone else None
    table = None
    for nodes in args.nodes:
        for ranks in args.ranks:
            row = {'nodes': nodes, 'ranks': ranks, **median_run(program, nodes, ranks, options, args)}
            row['efficiency'] = alone / (nodes * ranks * row['step_ms']) if alone else ''
            if not table:
                table = csv.DictWriter(sys.stdout, row)
                table.writeheader()
            table.writerow({name: value if isinstance(value, (int, str)) else f'{value:.6g}' for name, value in row.items()})
            sys.stdout.flush()
    return 0


if __name__ == '__main__':
    sys.exit(main())
