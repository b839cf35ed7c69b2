#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the structs, enums, codes and functions of the public headers for Fortran and Python.

usage: structs.py OUTPUT     writes equipoise.f90 (from fortran/equipoise.f90) or _structs.py, as the name says
       structs.py --layout FOLDER   writes layout.c and layout.f90: programs that print the place of every member
       structs.py --layout-python STRUCTS   prints the same for a _structs.py
"""
import ctypes
import pathlib
import re
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT / "tests" / "public"))
from generate import Function, Header, Thing, World  # noqa: E402  (the reader of headers)

# Structs that a caller of the bindings fills or reads; the structs nested in them are added automatically.
WANTED = """eqp_message eqp_points eqp_point_column eqp_walls_options eqp_balance_options eqp_balance_result eqp_option
    eqp_method eqp_methods eqp_choice
    eqp_overhead eqp_memory eqp_problem eqp_owner eqp_tile eqp_placement eqp_balancer_options eqp_advice eqp_rank_row
    eqp_work eqp_step eqp_evaluated eqp_comparison eqp_compared""".split()
ENUMS = """eqp_method_flags eqp_survey_kind eqp_share_kind eqp_policy_mode eqp_policy_action eqp_sample_strategy eqp_stages
    eqp_lazy_phase eqp_option_type""".split()
MACROS = ["EQP_COST_KINDS", "EQP_TILE_PINS", "EQP_WORD_SIZE", "EQP_SIZES_BINS", "EQP_MEET_SUMS", "EQP_MEET_LOWS",
          "EQP_PHASES_MAX", "EQP_REGIONS_PARTS", "EQP_CYCLE_PHASES"]

PYTHON = {"int": "c_int", "unsigned": "c_uint", "bool": "c_bool", "double": "c_double", "float": "c_float",
          "char": "c_char", "size_t": "c_size_t", "int32_t": "c_int32", "int64_t": "c_int64", "uint64_t": "c_uint64"}
# Fortran has no unsigned integers; signed ones have the same bits.
FORTRAN = {"int": "integer(c_int)", "unsigned": "integer(c_int)", "bool": "logical(c_bool)", "double": "real(c_double)",
           "float": "real(c_float)", "char": "character(kind=c_char)", "size_t": "integer(c_size_t)",
           "int32_t": "integer(c_int32_t)", "int64_t": "integer(c_int64_t)", "uint64_t": "integer(c_int64_t)"}
ZERO = {"integer": "0", "logical": ".false.", "real": "0", "character": "c_null_char", "type(c_ptr)": "c_null_ptr",
        "type(c_funptr)": "c_null_funptr"}


class Interface:
    """The structs, each after the structs nested in it, the constants, the codes, and the functions that the Python
    package calls."""

    def __init__(self):
        paths = sorted(p for folder in ("sampling", "lib") for p in (ROOT / folder / "include/equipoise").rglob("*.h"))
        self.world = World([Header(path) for path in paths])
        text = "".join(path.read_text() for path in paths)
        self.headers = paths
        self.constants = {name: self.macro(text, name) for name in MACROS}
        self.version = [self.macro(text, "EQP_VERSION_" + part) for part in ("MAJOR", "MINOR", "PATCH")]
        for name in ENUMS:
            self.constants.update(self.enum(text, name))
        self.codes = [(f"EQP_{name}", int(value), said)
                      for name, value, said in re.findall(r'X\((\w+), (-?\d+), "(.*?)"\)', text)]
        self.structs = []
        for name in WANTED:
            self.want(name)
        package = "".join(path.read_text() for path in sorted((HERE / "python/equipoise").glob("_*.py")))
        self.functions = [self.world.functions[name] for name in sorted(set(re.findall(r"\beqp_\w+", package)))
                          if name in self.world.functions and not self.world.functions[name].inline]

    @staticmethod
    def macro(text, name):
        value = re.search(rf"#define {name} (?:\((.*?)\)\n|(\d+))", text)
        return eval(value.group(1) or value.group(2), {})  # a number or a shifted number

    @staticmethod
    def enum(text, name):
        body = re.search(rf"enum {name} \{{(.*?)\}}", text, re.S).group(1)
        value = -1
        for member in re.sub(r"/\*.*?\*/", "", body, flags=re.S).split(","):
            if member.strip():
                key, _, said = (word.strip() for word in member.partition("="))
                value = int(said) if said else value + 1
                yield key, value

    def want(self, name):
        if name in self.structs:
            return
        for member in self.members(name):
            if member.kind in self.world.structs:
                self.want(member.kind)
        self.structs.append(name)

    def members(self, struct):
        return [Member(self, struct, *member) for member in self.world.structs[struct]]


class Member:
    """One member: kind is a base type, a struct, 'pointer', 'text' or 'function'."""

    def __init__(self, interface, struct, declaration, comment):
        thing = Thing(declaration)
        self.name = thing.name
        self.comment = re.sub(r"^/\*\*<?\s*|\s*\*/$", "", comment).replace("\\ref ", "")
        self.dims = []
        if thing.callback:
            self.kind = "function"
        elif thing.stars:
            self.kind = "text" if thing.base == "char" and thing.stars == "*" else "pointer"
        else:
            self.kind = "int" if thing.base in interface.world.enums else thing.base
            dims = re.findall(r"\[(\w+)\]", thing.dims)
            self.dims = [int(d) if d.isdigit() else interface.constants[d] for d in dims]
        if self.kind not in ("function", "text", "pointer") and self.kind not in PYTHON and \
                self.kind not in interface.world.structs:
            sys.exit(f"structs.py: {struct}.{self.name}: unknown type {self.kind}")

    def python(self):
        kind = {"function": "c_void_p", "text": "c_char_p", "pointer": "c_void_p"}.get(self.kind) or \
            PYTHON.get(self.kind, self.kind)
        return kind + "".join(f" * {d}" for d in self.dims)

    def fortran(self):
        kind = {"function": "type(c_funptr)", "text": "type(c_ptr)", "pointer": "type(c_ptr)"}.get(self.kind) or \
            FORTRAN.get(self.kind, f"type({self.kind})")
        zero = ZERO.get(kind) or ZERO.get(kind.partition("(")[0])
        dims = f"({', '.join(str(d) for d in reversed(self.dims))})" if self.dims else ""
        return f"{kind} :: {self.name}{dims}" + (f" = {zero}" if zero else "")


def python_text(face):
    out = ['# SPDX-License-Identifier: BSD-3-Clause',
           '"""The structs, functions, constants and codes of the headers. Written by bindings/structs.py."""',
           'from ctypes import (Structure, c_bool, c_char, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint,',
           '                    c_uint64, c_void_p)', '', f'VERSION = ({", ".join(map(str, face.version))})', '']
    out += [f"{name} = {value}" for name, value in face.constants.items()]
    out += ["", *(f"{name} = {value}  # {said}" for name, value, said in face.codes)]
    for name in face.structs:
        out += ["", "", f"class {name}(Structure):", "    _fields_ = ["]
        for m in face.members(name):
            out += [f'        ("{m.name}", {m.python()}),']
        out += ["    ]"]
    out += ["", "", "# The functions that the package calls: result and arguments. A communicator is an int or a pointer.",
            "FUNCTIONS = {"]
    for f in face.functions:
        result = None if f.returns == "void" else python_kind(face, f.returns.strip() + " result")[1]
        arguments = [f'("{name}", {kind})' for name, kind in (python_kind(face, p) for p in f.parameters)]
        out += textwrap.wrap(f'"{f.name}": ({result}, [{", ".join(arguments)}]),', 120, initial_indent="    ",
                             subsequent_indent="        ")
    out += ["}"]
    return "\n".join(out) + "\n"


def python_kind(face, declaration):
    """Name and ctypes type of an argument or a result; handles, structs and arrays are pointers."""
    thing = Thing(declaration)
    if thing.callback or thing.stars or thing.dims or thing.base == "MPI_Comm":
        return thing.name, "c_char_p" if not thing.callback and (thing.base, thing.stars) == ("char", "*") else "c_void_p"
    return thing.name, "c_int" if thing.base in face.world.enums else PYTHON[thing.base]


def fortran_types(face):
    out = ["!> The structs, constants and codes of the C headers.",
           "module equipoise_types", "  use, intrinsic :: iso_c_binding", "  implicit none", "  public", ""]
    out += [f"  integer, parameter :: {name} = {value}" for name, value in
            zip(("EQP_VERSION_MAJOR", "EQP_VERSION_MINOR", "EQP_VERSION_PATCH"), face.version)]
    out += [f"  integer(c_int), parameter :: {name} = {value}" for name, value in face.constants.items()]
    out += [""]
    for name, value, said in face.codes:
        out += [f"  integer, parameter :: {name} = {value} !< {said}"]
    for name in face.structs:
        out += ["", f"  type, bind(c) :: {name}"]
        for m in face.members(name):
            out += textwrap.wrap(m.comment, 110, initial_indent="    !> ", subsequent_indent="    !! ")
            out += ["    " + m.fortran()]
        out += [f"  end type {name}"]
    return out + ["end module equipoise_types"]


# Arguments that point to one number, and those that take an address because they may be NULL.
ONE_NUMBER = {"nrecv", "narriving", "n", "nmapped"}
ADDRESSES = {"value", "work", "domain", "usual"}


def fortran_argument(face, text):
    """Name and declaration of an argument of a C function."""
    thing = Thing(text.replace("CFI_cdesc_t", "cdesc"))
    base = "int" if thing.base in face.world.enums | {"MPI_Fint"} else thing.base
    intent = "intent(in)" if thing.const else "intent(inout)"
    if base == "cdesc":
        return thing.name, f"type(*), {intent}, optional :: {thing.name}(..)"
    if thing.stars in ("**", "*const*"):
        return thing.name, f"type(c_ptr), intent(inout) :: {thing.name}"
    if not thing.stars and not thing.dims:
        return thing.name, f"{FORTRAN[base]}, value :: {thing.name}"
    if base not in FORTRAN.keys() | set(face.structs) or base.startswith("eqp_method") or \
            (thing.name in ADDRESSES and base != "eqp_work"):
        return thing.name, f"type(c_ptr), value :: {thing.name}"
    if base in face.structs:
        return thing.name, f"type({base}), {intent} :: {thing.name}"
    one = thing.name in ONE_NUMBER and not thing.const
    dims = f"({thing.dims[1:-1] or '*'})" if not one else ""
    return thing.name, f"{FORTRAN[base]}, {intent} :: {thing.name}{dims}"


def fortran_interface(face, name, function):
    """The interface of a C function under a name of Fortran."""
    arguments = [fortran_argument(face, text) for text in function.parameters]
    base = "int" if function.returns in face.world.enums else function.returns
    kind = "subroutine" if base == "void" else \
        f"{FORTRAN[base] if base in FORTRAN else 'type(c_ptr)'} function"
    head = f'{kind} {name}({", ".join(a for a, _ in arguments)}) bind(c, name="{function.name}")'
    return " &\n        ".join(textwrap.wrap(head, 110, initial_indent="    ")) + \
        "".join(f"\n      {line}" for line in ["import", *(line for _, line in arguments)]) + \
        f"\n    end {kind.split()[-1]} {name}\n"


def repeated(block):
    """A block of the template, once for each alternative of its first line: `!each A=x;B=y | A=z;B=w`."""
    out = ""
    for alternative in block.group(1).split("|"):
        text = block.group(2)
        for word in alternative.split(";"):
            name, _, value = word.strip().partition("=")
            text = text.replace(f"@{name}@", value)
        out += text
    return out


def fortran_text(face):
    """The modules of the types and of the private interfaces, and the template with its blocks repeated."""
    text = re.sub(r" *!each (.*)\n((?s:.*?)) *!end each\n", repeated, (HERE / "fortran/equipoise.f90").read_text())
    wrappers = {"eqp_fortran_" + m.group(1): Function(None, "eqp_fortran_" + m.group(1), "int", " ".join(m.group(2).split()), "",
                                                      False) for m in
                re.finditer(r"^(?:EXPORT\(int eqp_fortran_|WITH_COMM\()(\w+),?\s*\(([^)]*)\)",
                            (HERE / "fortran/comm.c").read_text(), re.M)}
    functions = face.world.functions | {"eqp_strlen": Function(None, "strlen", "size_t", "const void *text", "", False),
                                        "eqp_free": Function(None, "free", "void", "void *memory", "", False)}
    direct = re.search(r"  !interfaces ((?:.|\n  !)*)\n", text)
    public = "".join(fortran_interface(face, name, functions[name]) for name in direct.group(1).replace("!", " ").split())
    private = {"c_" + word: wrappers.get("eqp_fortran_" + word) or functions.get("eqp_" + word)
               for word in sorted(set(re.findall(r"\bc_(\w+)\(", text)))}
    private = {name: function for name, function in private.items() if function}
    text = text.replace(direct.group(), f"  interface\n{public}  end interface\n" +
                        "".join(f"  private :: {name}\n" for name in private))
    notice, _, rest = text.partition("\n")
    calls = "".join(fortran_interface(face, *pair) for pair in private.items())
    return "\n".join([notice, *fortran_types(face), "", "!> Private interfaces of the C functions behind module equipoise.",
                      "module equipoise_calls", "  use, intrinsic :: iso_c_binding", "  use equipoise_types",
                      "  implicit none", "  public", "", "  interface", calls + "  end interface",
                      "end module equipoise_calls", "", rest])


def layout_c(face):
    out = ["#include <stddef.h>", "#include <stdio.h>"]
    out += [f"#include <equipoise/{path.as_posix().rpartition('include/equipoise/')[2]}>" for path in face.headers
            if path.stem in ("balancer", "points", "version")]
    out += ["int main(void)", "{"]
    for name in face.structs:
        out += [f'    printf("{name} %zu\\n", sizeof({name}));']
        out += [f'    printf("{name}.{m.name} %zu\\n", offsetof({name}, {m.name}));' for m in face.members(name)]
    for name, value in face.constants.items():
        out += [f'    printf("{name} %d\\n", (int){name});']
    return "\n".join(out + ["    return 0;", "}"]) + "\n"


def layout_fortran(face):
    """A procedure for each struct; the offset of a member is a difference of addresses."""
    out = ["program layout", "  use equipoise_types"]
    out += ["  implicit none"]
    out += [f"  call of_{name[4:]}()" for name in face.structs]
    out += [f"  print '(a,i0)', '{name} ', {name}" for name in face.constants]
    out += ["contains", "  integer(c_intptr_t) function at(place)", "    type(c_ptr), intent(in) :: place",
            "    at = transfer(place, 0_c_intptr_t)", "  end function at"]
    for name in face.structs:
        out += [f"  subroutine of_{name[4:]}()", f"    type({name}), target :: s",
                f"    print '(a,i0)', '{name} ', c_sizeof(s)"]
        for m in face.members(name):
            first = f"({', '.join('1' for _ in m.dims)})" if m.dims else ""
            out += [f"    print '(a,i0)', '{name}.{m.name} ', at(c_loc(s%{m.name}{first})) - at(c_loc(s))"]
        out += [f"  end subroutine of_{name[4:]}"]
    return "\n".join(out + ["end program layout"]) + "\n"


def layout_python(path):
    """Prints the layout of the ctypes structs in the format of the C and Fortran programs."""
    structs = {}
    exec(pathlib.Path(path).read_text(), structs)  # pylint: disable=exec-used
    face = Interface()
    for name in face.structs:
        print(name, ctypes.sizeof(structs[name]))
        for member, _ in structs[name]._fields_:
            print(f"{name}.{member}", getattr(structs[name], member).offset)
    for name in face.constants:
        print(name, structs[name])


def main(arguments):
    writers = {"equipoise.f90": fortran_text, "_structs.py": python_text}
    if len(arguments) == 2 and arguments[0] == "--layout-python":
        layout_python(arguments[1])
    elif len(arguments) == 2 and arguments[0] == "--layout":
        for name, text in (("layout.c", layout_c), ("layout.f90", layout_fortran)):
            (pathlib.Path(arguments[1]) / name).write_text(text(Interface()))
    elif len(arguments) == 1 and pathlib.Path(arguments[0]).name in writers:
        pathlib.Path(arguments[0]).write_text(writers[pathlib.Path(arguments[0]).name](Interface()))
    else:
        print(__doc__.strip().replace("usage: ", "usage: bindings/", 1))
        return 0 if arguments in (["-h"], ["--help"]) else 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
