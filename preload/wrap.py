#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the wrappers of an MPI library: every function that takes a communicator, with MPI_COMM_WORLD replaced at the
call, and every function that waits, so that the time in it can be told from the program's own.

usage: wrap.py c|fortran OUTPUT COMPILER...
COMPILER with its flags preprocesses <mpi.h>. The wrappers of C, or those of Fortran: mpif.h and `use mpi` (mpi_x_), and
mpi_f08 (mpi_x_f08_).
"""
import re
import subprocess
import sys

# Files by hand have these.
BY_HAND = """MPI_Init MPI_Init_thread MPI_Finalize MPI_Abort MPI_Comm_set_errhandler MPI_Errhandler_set MPI_Errhandler_get
    MPI_Comm_get_attr MPI_Attr_get MPI_Pcontrol MPI_Session_init MPI_Session_finalize MPI_Group_from_session_pset
    MPI_Session_get_pset_info""".split()
# In Fortran: the arguments without `ierror`, and the function of fortran.c that is called with the true routine.
BY_HAND_IN_FORTRAN = {"mpi_init": (0, "init"), "mpi_init_thread": (2, "init_thread"), "mpi_finalize": (0, "finalize"),
                      "mpi_abort": (2, "abort"), "mpi_comm_set_errhandler": (2, "set_errhandler"),
                      "mpi_errhandler_set": (2, "set_errhandler"),
                      "mpi_comm_create_errhandler": (2, "create_errhandler"),
                      "mpi_errhandler_create": (2, "create_errhandler"),
                      "mpi_comm_create_keyval": (4, "create_keyval"), "mpi_keyval_create": (4, "keyval_create"),
                      "mpi_comm_get_attr": (4, "comm_get_attr"),
                      "mpi_attr_get": (4, "attr_get"), "mpi_pcontrol": (1, "pcontrol"),
                      "mpi_session_init": (3, "session_init")}
# Removed from MPI, but not from its Fortran.
STILL_IN_FORTRAN = "int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *errhandler); int PMPI_Errhandler_get(MPI_Comm comm);"
# Handles of Fortran are translated when they are used, not when they are made.
LEFT_ALONE = "MPI_Comm_c2f MPI_Comm_f2c MPI_Comm_toint MPI_Comm_fromint".split()
# Blocking collective calls: over all ranks, each ends a step.
COLLECTIVE = """Barrier Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv Alltoallw Reduce
    Allreduce Reduce_scatter Reduce_scatter_block Scan Exscan""".split()
# Other calls that may wait for other ranks.
WAITING = """Send Ssend Rsend Bsend Recv Mrecv Sendrecv Sendrecv_replace Probe Mprobe Wait Waitall Waitany Waitsome
    Neighbor_allgather Neighbor_allgatherv Neighbor_alltoall Neighbor_alltoallv Neighbor_alltoallw
    Comm_create Comm_create_group Comm_dup Comm_dup_with_info Comm_split Comm_split_type Comm_free Comm_disconnect
    Comm_spawn Comm_spawn_multiple Comm_accept Comm_connect Cart_create Cart_sub Graph_create Dist_graph_create
    Dist_graph_create_adjacent Intercomm_create Intercomm_merge File_open File_close File_read_all File_write_all
    File_read_at_all File_write_at_all File_read_ordered File_write_ordered File_sync
    Win_create Win_create_dynamic Win_allocate Win_allocate_shared Win_free Win_fence Win_start Win_complete Win_wait
    Win_lock Win_lock_all Win_unlock Win_unlock_all Win_flush Win_flush_all""".split()
# Further names of one function in mpif.h and `use mpi`.
MORE_NAMES = {"MPI_Win_allocate": ["mpi_win_allocate_cptr"], "MPI_Win_allocate_shared": ["mpi_win_allocate_shared_cptr"]}

PROTOTYPE = re.compile(r"\bint\s+(MPIX?_[A-Z]\w*)\s*\(([^;{}]*)\)\s*;")
PARAMETER = re.compile(r"^(?P<type>.*?[\s*])(?P<name>[A-Za-z_]\w*)\s*(?P<array>(?:\[[^\]]*\]\s*)*)$", re.DOTALL)
TOP = "/* SPDX-License-Identifier: BSD-3-Clause */\n/* Written by wrap.py from this MPI's mpi.h. */\n"


def without_attributes(text):
    """Attributes hold parentheses and texts with semicolons: they go first."""
    text = re.sub(r'"(?:\\.|[^"\\])*"', '""', text)
    while True:
        start = re.search(r"__attribute__\s*\(", text)
        if not start:
            return text
        depth, end = 1, start.end()
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        text = text[: start.start()] + text[end:]


class Parameter:
    def __init__(self, text, number):
        text = " ".join(text.split())
        match = PARAMETER.match(text)
        if not match or match.group("name") == "int" or match.group("name").startswith("MPI_"):  # a type without a name
            match = PARAMETER.match(f"{text} argument{number}")
        self.type, self.name, self.array = (match.group(g).strip() for g in ("type", "name", "array"))
        self.is_comm = self.type == "MPI_Comm" and not self.array
        self.is_text = "char" in self.type.replace("*", " ").split()

    def declared(self):
        return f"{self.type} {self.name}{self.array}"


class Function:
    def __init__(self, name, parameters):
        self.name = name
        texts = [] if parameters.strip() in ("", "void") else parameters.split(",")
        self.parameters = [Parameter(text, number) for number, text in enumerate(texts)]
        self.comms = [p.name for p in self.parameters if p.is_comm]
        stem = re.sub(r"_c$", "", name.split("_", 1)[1])
        self.collective = stem in COLLECTIVE
        self.timed = self.collective or stem in WAITING


def functions_of(header):
    """Those of a preprocessed mpi.h, by name."""
    text = without_attributes(re.sub(r"^\s*#.*$", "", header, flags=re.MULTILINE))
    others = set(re.findall(r"\bP(MPIX?_\w+)\s*\(", text))
    found = {}
    for name, parameters in PROTOTYPE.findall(text):
        if name in others and name not in LEFT_ALONE:  # no way on without the other name
            found.setdefault(name, Function(name, parameters))
    return found


def timed(function, comm, call):
    """The body of a wrapper whose time counts as MPI's."""
    return f"""    if (!eqp__measures) {{
        {call[0]}
    }}
    eqp__mpi_begins({comm if function.collective else "MPI_COMM_NULL"});
    {call[1]}
    eqp__mpi_ends();
"""


def wrapper_in_c(function):
    parameters = ", ".join(p.declared() for p in function.parameters)
    call = f"P{function.name}({', '.join(p.name for p in function.parameters)})"
    body = "".join(f"    {name} = eqp__comm({name});\n" for name in function.comms)
    if function.timed:
        comm = function.comms[0] if function.comms else "MPI_COMM_NULL"
        body += timed(function, comm, (f"return {call};", f"int code = {call};")) + "    return code;\n"
    else:
        body += f"    return {call};\n"
    return f"EQP_WRAPPER int {function.name}({parameters})\n{{\n{body}}}\n"


def wrapper_in_fortran(function, name, target):
    """All arguments by address, `ierror` behind them, then the lengths of texts by value."""
    names = [p.name + "_" for p in function.parameters] + ["ierror_"]
    types = ["const MPI_Fint *" if p.is_comm else "void *" for p in function.parameters] + ["MPI_Fint *"]
    texts = [p.name + "_length_" for p in function.parameters if p.is_text]
    parameters = ", ".join([t + n for t, n in zip(types, names)] + ["size_t " + n for n in texts])
    values = ["&" + p.name + "_in_" if p.is_comm else p.name + "_" for p in function.parameters] + ["ierror_"] + texts
    call = f"{target}({', '.join(values)});"
    body = f'    if ({target} == NULL) {{\n        eqp__no_fortran("{name}");\n    }}\n'
    body += "".join(f"    const MPI_Fint {c}_in_ = eqp__fortran_comm({c}_);\n" for c in function.comms)
    if function.timed:
        comm = f"PMPI_Comm_f2c({function.comms[0]}_in_)" if function.comms else "MPI_COMM_NULL"
        body += timed(function, comm, (f"{call}\n        return;", call))
    else:
        body += f"    {call}\n"
    return (f"extern __attribute__((weak)) void {target}({parameters});\n"
            f"EQP_WRAPPER void {name}({parameters});\nEQP_WRAPPER void {name}({parameters})\n{{\n{body}}}\n")


def hand_over(stem, name, target, hook):
    """A wrapper that calls the function by hand. mpi_f08 may leave `ierror` away, and MPI_Pcontrol has none."""
    count, function = hook
    values = [f"argument{i}_" for i in range(count)] + ["ierror_"]
    parameters = ", ".join(["void *" + v for v in values[:-1]] + ["MPI_Fint *ierror_"])
    body = f'    if ({target} == NULL) {{\n        eqp__no_fortran("{name}");\n    }}\n'
    if stem != "mpi_pcontrol":
        body += "    MPI_Fint unwanted_ = 0;\n\n    ierror_ = ierror_ != NULL ? ierror_ : &unwanted_;\n"
    body += f"    eqp__fortran_{function}({', '.join([target] + values)});\n"
    return (f"extern __attribute__((weak)) void {target}({parameters});\n"
            f"EQP_WRAPPER void {name}({parameters});\nEQP_WRAPPER void {name}({parameters})\n{{\n{body}}}\n")


def aliases(stem):
    """Compilers that write other names into their objects: the wrapper of mpi_x_ under these as well."""
    names = (stem, stem + "__", stem.upper())
    return "".join(f"EQP_ALIAS({name}, {stem}_)\n" for name in names)


def f08_names(stem, mpich, large=False):
    """Names in mpi_f08, each with that of the true routine."""
    ends = ("f08_", "f08ts_") if mpich else ("f08_",)
    return [(f"{stem}_{end}", f"{'pmpir' + stem[3:] if mpich else 'p' + stem}_{end}")
            for end in (e + "large_" if large else e for e in ends)]


def wrappers_in_fortran(function, mpich):
    stem = function.name.lower()
    if function.name.endswith("_c"):
        return "".join(wrapper_in_fortran(function, *names) for names in f08_names(stem[:-2], mpich, large=True))
    text = "".join(wrapper_in_fortran(function, s + "_", f"p{s}_") + aliases(s)
                   for s in [stem] + MORE_NAMES.get(function.name, []))
    return text + "".join(wrapper_in_fortran(function, *names) for names in f08_names(stem, mpich))


def hooks_in_fortran(mpich):
    text = ""
    for stem, hook in BY_HAND_IN_FORTRAN.items():
        text += hand_over(stem, stem + "_", f"p{stem}_", hook) + aliases(stem)
        text += "".join(hand_over(stem, *names, hook) for names in f08_names(stem, mpich) if "ts_" not in names[0])
    return text


def written(kind, functions, mpich):
    wrapped = [f for n, f in sorted(functions.items()) if n not in BY_HAND and (f.comms or f.timed)]
    if not wrapped:
        sys.exit("wrap.py: mpi.h declares no function that takes a communicator")
    text = TOP + '#pragma GCC diagnostic ignored "-Wdeprecated-declarations"\n#include "world.h"\n'
    if kind == "c":
        return text + "\n".join(wrapper_in_c(f) for f in wrapped)
    wrapped += functions_of(STILL_IN_FORTRAN).values()
    text += '#include "fortran.h"\n' + hooks_in_fortran(mpich)
    return text + "\n".join(wrappers_in_fortran(f, mpich) for f in wrapped)


def main(arguments):
    if len(arguments) < 3 or arguments[0] not in ("c", "fortran"):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    kind, output, compiler = arguments[0], arguments[1], arguments[2:]
    source = "#include <mpi.h>\n#ifdef MPICH_VERSION\nint eqp__is_mpich;\n#endif\n"
    ran = subprocess.run(compiler + ["-E", "-x", "c", "-"], input=source, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        print(f"wrap.py: {' '.join(compiler)} does not preprocess mpi.h: {ran.stderr.strip()}", file=sys.stderr)
        return 1
    text = written(kind, functions_of(ran.stdout), "eqp__is_mpich" in ran.stdout)
    with open(output, "w", encoding="utf-8") as f:
        f.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
