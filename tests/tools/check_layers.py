#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Proves that no file includes against the layers, and that the libraries neither print nor end the program.

usage: check_layers.py SOURCE_ROOT
Prints one line per violation, "file:line: what"; exit status 1 if there is any.
"""
import fnmatch
import os
import re
import subprocess
import sys

LIBC = set(
    """assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic
    stdbool stddef stdint stdio stdlib stdnoreturn string strings tgmath threads time uchar wchar wctype
    dirent fcntl ftw getopt libgen linux/futex poll pthread sched semaphore spawn unistd
    sys/file sys/mman sys/resource sys/stat sys/syscall sys/time sys/types sys/uio sys/wait sys/xattr""".split()
)

# Headers of other projects and their names in the table of layers.
EXTERNAL = [
    ("mpi.h", "MPI"),
    ("zoltan*.h", "Zoltan"),
    ("metis.h", "METIS"),
    ("hdf5*.h", "HDF5"),
    ("H5*.h", "HDF5"),
    ("zlib.h", "zlib"),
    ("jansson.h", "jansson"),
    ("cmocka.h", "cmocka"),
    ("immintrin.h", "intrinsics"),
    ("malloc.h", "the C library's own"),
    ("dlfcn.h", "the C library's own"),
    ("elf.h", "the C library's own"),
    ("link.h", "the C library's own"),
    ("unwind.h", "the compiler's own"),
    ("sanitizer/*.h", "sanitizers"),
    ("simgrid/*.h", "SimGrid"),
    ("ISO_Fortran_binding.h", "Fortran's descriptors"),
]

PURE = ["cost", "move", "decide"]
ROOMS = ["base"] + PURE + ["comm", "methods", "map", "whatif", "run", "late", "balancer", "io", "loops", "models"]
PUBLIC = ["sampling", "interface", "calls"] + ROOMS

# Layer -> layers that it may include besides itself and libc. Every layer may use the one list of error codes.
MAY_INCLUDE = {
    "errors": [],
    "sampling": ["errors", "intrinsics"],
    "interface": ["errors", "sampling"],
    "calls": ["errors", "sampling", "interface", "MPI"],
    "base": ["errors", "interface", "sampling"],
    "cost": ["errors", "interface", "base", "comm", "MPI"],
    "move": ["errors", "interface", "base"],
    "decide": ["errors", "interface", "base"],
    "comm": ["errors", "interface", "sampling", "base", "move", "MPI"],
    "methods": ["errors", "interface", "calls", "sampling", "base", "comm", "MPI"] + PURE,
    "map": ["errors", "interface", "calls", "sampling", "base", "cost", "move", "comm", "methods", "MPI"],
    "whatif": ["errors", "interface", "calls", "sampling", "base", "cost", "move", "decide", "comm", "methods", "map", "MPI"],
    "run": ["errors", "interface", "calls", "sampling", "base", "comm", "methods", "map", "whatif", "MPI"] + PURE,
    "late": ["errors", "interface", "calls", "sampling", "base", "comm", "methods", "map", "whatif", "run", "MPI"] + PURE,
    "balancer": ["errors", "interface", "calls", "sampling", "base", "comm", "methods", "map", "whatif", "run", "late", "MPI"] + PURE,
    "io": ["errors", "interface", "base", "HDF5", "zlib"],
    "loops": ["errors", "interface", "base", "comm", "MPI"],
    "models": ["errors", "interface", "sampling", "base", "cost"],
    "umbrella": ["errors"] + PUBLIC,
    "recipe": ["errors", "interface", "base"],
    "physics": ["errors", "interface", "sampling", "base", "recipe", "intrinsics"],
    "output": ["errors", "interface", "base", "jansson"],
    "trace": ["errors", "interface", "sampling", "base", "jansson", "HDF5"],
    "shell": ["errors", "umbrella", "recipe", "output", "MPI", "the C library's own"] + PUBLIC,
    "reports": ["errors", "umbrella", "shell", "recipe", "output", "jansson", "zlib", "MPI", "the C library's own"] + PUBLIC,
    "drive": ["errors", "umbrella", "shell", "reports", "recipe", "output", "physics", "trace", "MPI"] + PUBLIC,
    "main": ["errors", "umbrella", "shell", "reports", "recipe", "physics", "trace", "drive", "MPI", "the C library's own"] + PUBLIC,
    "preload": ["errors", "interface", "calls", "sampling", "base", "comm", "methods", "decide", "run", "late", "MPI", "the C library's own"],
    "bindings": ["errors", "MPI", "Fortran's descriptors"] + PUBLIC,
    "example": ["errors", "umbrella", "MPI"] + PUBLIC,
    "bench": ["errors", "umbrella", "shell", "reports", "physics", "drive", "MPI", "intrinsics", "SimGrid", "the C library's own"] + PUBLIC,
    "test": ["unit test", "errors", "umbrella", "shell", "reports", "recipe", "output", "physics", "trace", "drive", "example", "MPI", "HDF5", "zlib", "jansson",
             "cmocka", "Zoltan", "the C library's own", "the compiler's own", "sanitizers"] + PUBLIC,
}
# An MPI test may intercept calls from the library to Zoltan.
MAY_INCLUDE["unit test"] = ["test"] + [layer for layer in MAY_INCLUDE["test"] if layer != "Zoltan"]

# Folders of methods that an external library implements.
LIBRARIES = {
    "lib/methods/rcb": "Zoltan",
    "lib/methods/hypergraph": "Zoltan",
    "lib/methods/graph": "METIS",
}

# Public headers whose room does not follow from their name (see public_layer). Tier 1 without MPI is the interface of every
# room; the rest of tier 1 is what programs call.
PUBLIC_HEADERS = {
    "sampling/include/equipoise/error.h": "errors",
    "sampling/include/equipoise/version.h": "errors",
    "lib/include/equipoise/equipoise.h": "umbrella",
    "lib/include/equipoise/survey.h": "interface",
    "lib/include/equipoise/problem.h": "interface",
    "lib/include/equipoise/policy.h": "interface",
    "lib/include/equipoise/balance.h": "calls",
    "lib/include/equipoise/points.h": "calls",
    "lib/include/equipoise/balancer.h": "calls",
    "lib/include/equipoise/snapshot.h": "io",
    "lib/include/equipoise/more/whatif.h": "move",
    "lib/include/equipoise/more/pcontrol.h": "late",
    "lib/include/equipoise/more/lazy.h": "run",
}

# Layers with private headers. Rooms of the library above, tests and benches may include them. The code of an app has no
# public headers, so the app and its tests may include all of it.
LIBRARY_LAYERS = ["errors", "sampling", "interface", "calls", "umbrella"] + ROOMS

FORBIDDEN_IN_LIBRARIES = [
    (re.compile(r"\b(stdout|stderr)\b"), "uses"),
    (re.compile(r"\b(printf|vprintf|puts|putchar|perror)\s*\("), "prints with"),
    (re.compile(r"\b(exit|_exit|_Exit|quick_exit|abort|MPI_Abort)\s*\("), "ends the program with"),
]
# Files are written through <equipoise/more/base.h>, which writes all or nothing and reports errors uniformly.
WRITES = re.compile(r"""\b(?:(fopen|freopen|gzopen)\s*\([^;]*?,\s*"[wa]|(O_CREAT|rename)\b)""")
COMM_WORLD = re.compile(r"\bMPI_COMM_WORLD\b")
TIER_1 = re.compile(r"(lib|sampling)/include/equipoise/(?!equipoise\.h)\w+\.h")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
SPDX = "SPDX-License-Identifier: BSD-3-Clause"
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def blank(match):
    """Replaces the match by blanks so that line numbers stay."""
    return re.sub(r"[^\n]", " ", match.group(0))


def without_comments(text):
    return COMMENT_OR_TEXT.sub(lambda m: blank(m) if m.group(0)[0] == "/" else m.group(0), text)


def without_comments_and_texts(text):
    return COMMENT_OR_TEXT.sub(blank, text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def source_files(root):
    """Paths from sources.sh, relative to root, with /."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sources.sh")
    listed = subprocess.run([script, root], stdout=subprocess.PIPE, check=True).stdout
    return sorted(os.fsdecode(path) for path in listed.split(b"\0") if path)


class Tree:
    def __init__(self, root):
        self.root = root
        self.files = source_files(root)
        self.known = set(self.files)
        self.code = [f for f in self.files if f.endswith((".c", ".h"))]
        self.violations = []

    def read(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as f:
            return f.read()

    def report(self, path, line, what):
        self.violations.append(f"{path}:{line}: {what}")

    def public_layer(self, path):
        """The room of a public header: the room of that name, or the room with a source of that name."""
        if path in PUBLIC_HEADERS:
            return PUBLIC_HEADERS[path]
        if path.startswith("sampling/"):
            return "sampling"
        stem = os.path.basename(path)[: -len(".h")]
        if stem in ROOMS:
            return stem
        homes = [room for room in ROOMS if any(f.startswith(f"lib/{room}/") and f.endswith(f"/{stem}.c") for f in self.code)]
        if not homes:
            homes = [room for room in ROOMS if stem.startswith(room + "_")]
        return homes[0] if len(homes) == 1 else None

    def layer(self, path):
        """The layer of a file, or None."""
        parts = path.split("/")
        if parts[0] in ("sampling", "lib") and parts[1] == "include":
            return self.public_layer(path)
        if parts[0] == "sampling":
            return "sampling"
        if parts[0] == "lib":
            return parts[1] if parts[1] in ROOMS else None
        if parts[0] == "tests":
            return "unit test" if parts[1] in ("unit", "fuzz") else "test"
        if parts[0] in ("bench", "bindings", "preload"):
            return parts[0]
        if parts[0] == "apps" and len(parts) > 2:
            folders = {"shell": "shell", "output": "output", "report": "reports", "examples": "example", "recipe": "recipe"}
            if parts[1] in folders:
                return folders[parts[1]]
            if len(parts) == 3:
                return "main"
            return parts[2] if parts[2] in ("physics", "trace", "drive") else None
        return None

    def resolve(self, path, name):
        """The file of this tree that an #include names, or None."""
        places = [os.path.dirname(path), "sampling/include", "lib/include", "lib", "sampling", "apps", "apps/shell", "apps/report"]
        places += ["tests/helpers"] if path.startswith("tests/") else []
        apps = sorted({"/".join(f.split("/")[:2]) for f in self.code if f.startswith("apps/")})
        if path.startswith("apps/"):
            apps = ["/".join(path.split("/")[:2])]
        places += [place for app in apps for place in (app, app + "/physics", app + "/trace", app + "/drive")]
        for place in places:
            candidate = os.path.normpath(os.path.join(place, name)).replace(os.sep, "/")
            if candidate in self.known or candidate + ".in" in self.known:  # .in: the build makes the header from it
                return candidate
        return None

    def check_own_header(self, path, line, layer, name, target):
        theirs = self.layer(target)
        if theirs is None:
            return  # reported where that header is looked at
        same_app = path.split("/")[:2] == target.split("/")[:2]
        if theirs == layer and (layer not in ("physics", "trace", "drive", "main") or same_app):
            return
        if theirs not in MAY_INCLUDE[layer]:
            self.report(path, line, f"{layer} must not include {theirs} ({name})")
        elif layer in ("physics", "trace", "drive", "main") and theirs in ("physics", "trace", "drive") and not same_app:
            self.report(path, line, f"an app must not include another app ({name})")
        elif theirs in LIBRARY_LAYERS and "/include/" not in target:
            above = layer in ROOMS and theirs in ROOMS
            if not above and layer not in ("unit test", "test", "bench"):
                self.report(path, line, f"{layer} must not include a private header of {theirs} ({name})")

    def check_includes(self, path, layer, text):
        # Remove comments but keep strings, since header names are quoted.
        text = without_comments(text)
        for match in INCLUDE.finditer(text):
            name, line = match.group(2), line_of(text, match.start(1))
            target = self.resolve(path, name)
            if target is not None:
                self.check_own_header(path, line, layer, name, target)
                if TIER_1.fullmatch(path) and name.startswith("equipoise/more/"):
                    self.report(path, line, f"tier 1 must not include tier 2 ({name})")
            elif name.endswith(".h") and name[:-2] in LIBC:
                continue
            else:
                kind = next((kind for pattern, kind in EXTERNAL if fnmatch.fnmatchcase(name, pattern)), None)
                if kind is None:
                    self.report(path, line, f"unknown header {name}")
                elif kind not in MAY_INCLUDE[layer] and kind != LIBRARIES.get(os.path.dirname(path)):
                    self.report(path, line, f"{layer} must not include {kind} ({name})")

    def check_words(self, path, layer, text):
        if layer not in ("test", "unit test", "bench") and path not in ("lib/base/file.c", "lib/base/lock.c"):
            code = without_comments(text)
            for match in WRITES.finditer(code):
                self.report(path, line_of(code, match.start()), f"writes a file by {match.group(1) or match.group(2)}")
        text = without_comments_and_texts(text)
        if layer in LIBRARY_LAYERS or layer == "output":
            for pattern, verb in FORBIDDEN_IN_LIBRARIES:
                for match in pattern.finditer(text):
                    self.report(path, line_of(text, match.start()), f"a library {verb} {match.group(1)}")
        program = layer in ("test", "unit test", "bench", "example", "preload") or layer == "main" and path.endswith("/main.c")
        if not program:
            for match in COMM_WORLD.finditer(text):
                self.report(path, line_of(text, match.start()), "MPI_COMM_WORLD outside a main.c")

    def check_licence(self, path):
        name = os.path.basename(path)
        is_source = name.endswith((".c", ".h", ".cpp", ".hpp", ".f90", ".py", ".sh", ".gp", ".cmake.in")) or name == "meson.build"
        if not is_source and "." in name:
            return
        head = self.read(path).split("\n", 2)[:2]
        if is_source or head[0].startswith("#!"):
            if SPDX not in "\n".join(head[: 2 if head[0].startswith("#!") else 1]):
                self.report(path, 1, f"no line '{SPDX}' at the top")

    def check(self):
        for path in self.files:
            self.check_licence(path)
        for path in self.code:
            layer = self.layer(path)
            if layer is None:
                self.report(path, 1, "belongs to no layer (see MAY_INCLUDE and PUBLIC_HEADERS in check_layers.py)")
                continue
            text = self.read(path)
            self.check_includes(path, layer, text)
            self.check_words(path, layer, text)
        return self.violations


def main(arguments):
    if len(arguments) != 1:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    tree = Tree(arguments[0])
    if not tree.code:
        print(f"check_layers: no C files in {arguments[0]}", file=sys.stderr)
        return 2
    violations = tree.check()
    for violation in violations:
        print(violation)
    print(f"{len(tree.code)} C files, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
