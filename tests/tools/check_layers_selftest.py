#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Feeds check_layers.py with small trees: every kind of violation is found, and a clean tree passes."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import check_layers

LICENCE = "/* SPDX-License-Identifier: BSD-3-Clause */\n"

CLEAN = {
    "sampling/include/equipoise/error.h": "",
    "sampling/include/equipoise/more/kdtree.h": '#include <stdint.h>\n#include <equipoise/error.h>\n',
    "sampling/kdtree_private.h": "",
    "sampling/kdtree.c": '#include <math.h>\n#include <equipoise/more/kdtree.h>\n#include "kdtree_private.h"\n',
    "lib/include/equipoise/more/methods.h": "#include <equipoise/more/kdtree.h>\n",
    "lib/include/equipoise/loads.h": "#include <equipoise/error.h>\n",
    "lib/include/equipoise/more/reduce.h": "#include <mpi.h>\n",
    "lib/base/array.h": '#include <stdlib.h>\n#include "base/version.h"\n',
    "lib/base/version.h.in": "",
    "lib/cost/loads.c": '#include <equipoise/loads.h>\n#include "base/array.h"\n',
    "lib/methods/curve/cuts.c": '#include <equipoise/more/methods.h>\n#include "base/array.h"\n',
    "lib/comm/reduce.c": '#include <equipoise/more/reduce.h>\n',
    "lib/methods/curve/cuts.h": "",
    "lib/methods/rcb/rcb.c": "#include <zoltan.h>\n#include <mpi.h>\n#include <equipoise/more/methods.h>\n",
    "lib/io/gadget.c": "#include <hdf5.h>\n#include <zlib.h>\n",
    "apps/output/json.c": '#include <jansson.h>\n#include <stdio.h>\nvoid f(FILE *s) { fprintf(s, "exit(1)"); }\n',
    "apps/shell/options.h": "#include <equipoise/loads.h>\n",
    "apps/barneshut/physics/tree.h": "#include <equipoise/more/kdtree.h>\n",
    "apps/barneshut/physics/tree.c": '#include "tree.h"\n',
    "apps/barneshut/drive/run.h": "",
    "apps/barneshut/drive/run.c": '#include <mpi.h>\n#include "shell/options.h"\n#include "physics/tree.h"\n',
    "apps/barneshut/main.c": '#include <mpi.h>\n#include "drive/run.h"\nMPI_Comm c = MPI_COMM_WORLD;\n',
    "apps/dislocation/physics/tree.h": "",
    "preload/world.c": '#include <equipoise/more/reduce.h>\n#include <elf.h>\nMPI_Comm c = MPI_COMM_WORLD;\n',
    "tests/unit/test_cuts.c": '#include <cmocka.h>\n#include "methods/curve/cuts.h"\n#include "physics/tree.h"\n',
    "tests/mpi/test_reduce.c": "#include <equipoise/more/reduce.h>\nMPI_Comm c = MPI_COMM_WORLD;\n",
    "bench/bench_cuts.c": '#include <equipoise/more/methods.h>\n#include "tree.h"\nMPI_Comm c = MPI_COMM_WORLD;\n',
}

# File, a violation that is written into it, and words of the message for it.
VIOLATIONS = [
    ("sampling/kdtree.c", "#include <mpi.h>", "sampling must not include MPI"),
    ("sampling/kdtree.c", "#  include <zoltan.h>", "sampling must not include Zoltan"),
    ("sampling/kdtree.c", "#include <hdf5.h>", "sampling must not include HDF5"),
    ("sampling/kdtree.c", '#include "../lib/base/array.h"', "sampling must not include base"),
    ("sampling/kdtree.c", "#include <equipoise/more/methods.h>", "sampling must not include methods"),
    ("sampling/include/equipoise/more/kdtree.h", "#include <equipoise/loads.h>", "sampling must not include cost"),
    ("lib/base/array.h", "#include <equipoise/more/methods.h>", "base must not include methods"),
    ("lib/base/array.h", "#include <mpi.h>", "base must not include MPI"),
    ("lib/cost/loads.c", "#include <equipoise/more/methods.h>", "cost must not include methods"),
    ("lib/cost/loads.c", "#include <equipoise/more/kdtree.h>", "cost must not include sampling"),
    ("lib/cost/loads.c", '#include "methods/curve/cuts.h"', "cost must not include methods"),
    ("lib/methods/curve/cuts.c", '#include "kdtree_private.h"', "methods must not include a private header of sampling"),
    ("lib/comm/reduce.c", "#include <zoltan.h>", "comm must not include Zoltan"),
    ("lib/comm/reduce.c", "#include <zoltan_cpp.h>", "comm must not include Zoltan"),
    ("lib/methods/rcb/rcb.c", "#include <hdf5.h>", "methods must not include HDF5"),
    ("lib/methods/curve/cuts.c", "#include <zoltan.h>", "methods must not include Zoltan"),
    ("lib/comm/reduce.c", "#include <equipoise/more/methods.h>", "comm must not include methods"),
    ("lib/io/gadget.c", "#include <mpi.h>", "io must not include MPI"),
    ("lib/io/gadget.c", "#include <jansson.h>", "io must not include jansson"),
    ("apps/output/json.c", "#include <H5Cpp.h>", "output must not include HDF5"),
    ("apps/output/json.c", "#include <equipoise/more/methods.h>", "output must not include methods"),
    ("apps/barneshut/physics/tree.c", "#include <mpi.h>", "physics must not include MPI"),
    ("apps/barneshut/physics/tree.c", "#include <equipoise/more/methods.h>", "physics must not include methods"),
    ("apps/barneshut/physics/tree.c", '#include "drive/run.h"', "physics must not include drive"),
    ("apps/barneshut/physics/tree.c", '#include "run.h"', "physics must not include drive"),
    ("apps/barneshut/physics/tree.c", '#include "options.h"', "physics must not include shell"),
    ("apps/barneshut/physics/tree.c", '#include "kdtree_private.h"', "a private header of sampling"),
    ("apps/barneshut/drive/run.c", '#include "methods/curve/cuts.h"', "a private header of methods"),
    ("apps/barneshut/drive/run.c", "#include <zoltan.h>", "drive must not include Zoltan"),
    ("apps/barneshut/drive/run.c", '#include "dislocation/physics/tree.h"', "an app must not include another app"),
    ("apps/shell/options.h", '#include "barneshut/drive/run.h"', "shell must not include drive"),
    ("apps/shell/options.h", "#include <hdf5.h>", "shell must not include HDF5"),
    ("preload/world.c", '#include "methods/curve/cuts.h"', "a private header of methods"),
    ("preload/world.c", "#include <zoltan.h>", "preload must not include Zoltan"),
    ("preload/world.c", 'FILE *f = fopen(path, "w");', "writes a file by fopen"),
    ("tests/unit/test_cuts.c", "#include <zoltan.h>", "test must not include Zoltan"),
    ("lib/cost/loads.c", "#include <boost/graph.hpp>", "unknown header"),
    ("lib/cost/loads.c", '#include "nowhere.h"', "unknown header"),
    ("sampling/kdtree.c", 'void f(void) { printf("x"); }', "prints with printf"),
    ("lib/comm/reduce.c", "void f(void) { fprintf(stderr, 0); }", "uses stderr"),
    ("lib/io/gadget.c", "void f(void) { fflush(stdout); }", "uses stdout"),
    ("lib/io/gadget.c", "void f(void) { exit (1); }", "ends the program with exit"),
    ("lib/base/array.h", "static void f(void) { abort(); }", "ends the program with abort"),
    ("lib/comm/reduce.c", "void f(MPI_Comm c) { MPI_Abort(c, 1); }", "ends the program with MPI_Abort"),
    ("lib/comm/reduce.c", "MPI_Comm c = MPI_COMM_WORLD;", "MPI_COMM_WORLD outside a main.c"),
    ("apps/barneshut/drive/run.c", "MPI_Comm c = MPI_COMM_WORLD;", "MPI_COMM_WORLD outside a main.c"),
    ("apps/output/json.c", 'FILE *f = fopen(path, "w");', "writes a file by fopen"),
    ("apps/barneshut/drive/run.c", "int fd = open(path, O_CREAT);", "writes a file by O_CREAT"),
    ("lib/include/equipoise/orphan.h", "int x;", "belongs to no layer"),
    ("lib/cellar/x.c", "int x;", "belongs to no layer"),
    ("scripts/x.c", "int x;", "belongs to no layer"),
]

HARMLESS = [
    ("lib/comm/reduce.c", "/* never MPI_COMM_WORLD, printf() or exit() */"),
    ("lib/comm/reduce.c", "// #include <zoltan.h> and stderr"),
    ("lib/comm/reduce.c", '/* #include <zoltan.h>\n#include <zoltan.h>\n*/'),
    ("lib/comm/reduce.c", 'const char *t = "a \\" quote, exit(1), stderr and /* no comment";'),
    ("lib/comm/reduce.c", "int snprintf_like(int exit_code); int x = '\"'; int y = '\\'';"),
    ("apps/output/json.c", 'void g(const char *t) { FILE *f = fopen(t, "rb"); }'),
    ("apps/output/json.c", 'void g(FILE *s) { fprintf(s, "%d", 1); fputs("x", s); }'),
]


def write(root, path, text):
    full = os.path.join(root, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", encoding="utf-8") as f:
        f.write(text)


def violations_of(changes):
    """Output of the checker for the clean tree with (path, added text) changes."""
    with tempfile.TemporaryDirectory() as root:
        files = {path: LICENCE + text for path, text in CLEAN.items()}
        for path, text in changes:
            files[path] = files.get(path, LICENCE) + text + "\n"
        for path, text in files.items():
            write(root, path, text)
        return check_layers.Tree(root).check()


class CheckLayers(unittest.TestCase):
    def test_clean_tree_passes(self):
        self.assertEqual(violations_of([]), [])

    def test_each_violation_is_found_and_nothing_else(self):
        for path, text, message in VIOLATIONS:
            with self.subTest(path=path, text=text):
                found = violations_of([(path, text)])
                self.assertEqual(len(found), 1, found)
                self.assertIn(message, found[0])
                self.assertTrue(found[0].startswith(path + ":"), found[0])

    def test_the_line_is_named(self):
        lines = CLEAN["lib/comm/reduce.c"].count("\n") + 2
        self.assertIn(f"lib/comm/reduce.c:{lines}:", violations_of([("lib/comm/reduce.c", "#include <zoltan.h>")])[0])

    def test_comments_and_texts_are_no_violations(self):
        for path, text in HARMLESS:
            with self.subTest(text=text):
                self.assertEqual(violations_of([(path, text)]), [])

    def test_a_source_without_licence_is_found(self):
        for path, text in [
            ("lib/cost/x.c", "int x;\n"),
            ("lib/cost/meson.build", "x = 1\n"),
            ("scripts/go", "#!/bin/sh\necho\n# SPDX-License-Identifier: BSD-3-Clause\n"),
            ("tests/tools/x.py", "x = 1\n"),
        ]:
            with self.subTest(path=path), tempfile.TemporaryDirectory() as root:
                write(root, path, text)
                found = check_layers.Tree(root).check()
                self.assertEqual([f for f in found if "SPDX" in f and f.startswith(path)], found)
                self.assertEqual(len(found), 1)

    def test_outputs_in_a_release_are_not_read(self):
        for path in ("build-x/lib/x.c", "report/loads.csv", "plots/loads.csv", "loads.csv", "chains.data", "forces.hdf5"):
            self.assertEqual(violations_of([(path, "#include <nowhere.h>")]), [])

    def test_tracked_files_are_read_and_no_others(self):
        if not shutil.which("git"):
            self.skipTest("git is not installed")
        with tempfile.TemporaryDirectory() as root:
            for path in ("elsewhere/x.c", "lib/cost/x.c", "plots/loads.csv"):
                write(root, path, "int x;\n")
            git = ["git", "-C", root]
            subprocess.run(git + ["init", "-q"], check=True)
            subprocess.run(git + ["add", "elsewhere/x.c", "lib/cost/x.c"], check=True)
            self.assertEqual(check_layers.source_files(root), ["elsewhere/x.c", "lib/cost/x.c"])
            os.remove(os.path.join(root, "lib/cost/x.c"))
            self.assertEqual(check_layers.source_files(root), ["elsewhere/x.c"])

    def test_a_release_has_every_tracked_file(self):
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
        tracked = check_layers.source_files(root)
        with unittest.mock.patch.dict(os.environ, {"GIT_DIR": os.devnull}):  # as where there is no repository
            self.assertEqual(set(tracked) - set(check_layers.source_files(root)), set())

    def test_the_table_knows_every_name_in_it(self):
        kinds = {kind for _, kind in check_layers.EXTERNAL}
        for layer, others in check_layers.MAY_INCLUDE.items():
            for other in others:
                self.assertTrue(other in check_layers.MAY_INCLUDE or other in kinds, (layer, other))

    def test_a_tree_without_code_is_an_error(self):
        with tempfile.TemporaryDirectory() as root:
            self.assertEqual(check_layers.main([root]), 2)


if __name__ == "__main__":
    sys.exit(unittest.main())
