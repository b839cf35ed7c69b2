#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the structs, enums and codes of the public headers for Fortran and Python.

usage: structs.py            writes python/equipoise/_structs.py and fortran/equipoise_types.f90
       structs.py --check    status 1 where these are not what the headers say
       structs.py --layout FOLDER   writes layout.c and layout.f90: programs that print the place of every member
"""
import pathlib
import re
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT / "tests" / "public"))
from generate import Header, Thing, World  # noqa: E402  (the reader of headers)

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
        package = "".join(path.read_text() for path in sorted((HERE / "python/equipoise").glob("_*.py"))
                          if path.name != "_structs.py")
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


def fortran_text(face):
    out = ["! SPDX-License-Identifier: BSD-3-Clause",
           "!> The structs, constants and codes of the C headers. Written by bindings/structs.py.",
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
    return "\n".join(out + ["", "end module equipoise_types"]) + "\n"


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


def layout_python(package):
    """Prints the layout of the ctypes structs in the format of the C and Fortran programs."""
    sys.path.insert(0, str(package))
    import ctypes
    import importlib.util

    spec = importlib.util.spec_from_file_location("structs", HERE / "python/equipoise/_structs.py")
    structs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(structs)
    face = Interface()
    for name in face.structs:
        struct = getattr(structs, name)
        print(name, ctypes.sizeof(struct))
        for member, _ in struct._fields_:
            print(f"{name}.{member}", getattr(struct, member).offset)
    for name in face.constants:
        print(name, getattr(structs, name))


def main(arguments):
    if arguments in (["-h"], ["--help"]):
        print(__doc__.strip().replace("usage: ", "usage: bindings/", 1))
        return 0
    files = {HERE / "python/equipoise/_structs.py": python_text, HERE / "fortran/equipoise_types.f90": fortran_text}
    if arguments == ["--layout-python"]:
        layout_python(HERE / "python")
        return 0
    if len(arguments) == 2 and arguments[0] == "--layout":
        files = {pathlib.Path(arguments[1]) / "layout.c": layout_c, pathlib.Path(arguments[1]) / "layout.f90": layout_fortran}
    elif arguments not in ([], ["--check"]):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    face = Interface()
    status = 0
    for path, text in files.items():
        if arguments == ["--check"]:
            if path.read_text() != text(face):
                print(f"{path}: not what the headers say; run bindings/structs.py")
                status = 1
        else:
            path.write_text(text(face))
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
