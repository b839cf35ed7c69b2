#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A wheel built by meson-python has the package and its own library, and runs on two ranks. The build uses a copy of the
# sources that it needs, without optimization.
# usage: wheel.sh SOURCE_ROOT
set -eu
source=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
python=
for candidate in "${PYTHON:-python3}" /usr/bin/python3; do
    if "$candidate" -c 'import mesonpy, numpy, mpi4py' 2>/dev/null; then
        python=$candidate
        break
    fi
done
[ -n "$python" ] || {
    echo "skipped: no python3 has meson-python, numpy and mpi4py"
    exit 77
}
mkdir "$tmp/source" "$tmp/packages"
cp -R "$source"/{sampling,lib,bindings,tests,meson.build,meson_options.txt,pyproject.toml,README.md,LICENSE} "$tmp/source"
cd "$tmp/source"
"$python" - "$tmp" >"$tmp/log" 2>&1 <<'END' || { tail -n 40 "$tmp/log"; exit 1; }
import sys
import mesonpy
import zipfile

name = mesonpy.build_wheel(sys.argv[1], {"setup-args": ["-Doptimization=0", "-Ddebug=false"], "compile-args": ["-j2"]})
with zipfile.ZipFile(f"{sys.argv[1]}/{name}") as wheel:
    names = [n for n in wheel.namelist() if ".dist-info/" not in n]
    wheel.extractall(sys.argv[1] + "/packages")
if any(not n.startswith("equipoise/") for n in names) or "equipoise/libequipoise.so" not in names:
    sys.exit(f"the wheel holds {names}")
END
unset LD_LIBRARY_PATH
# Meson's test environment would make the loader find a library of the build.
PYTHON=$python PACKAGES=$tmp/packages LIBRARY='' "$source/tests/bindings/python.sh" 2 "$source/tests/bindings/test_python.py"
PYTHON=$python PACKAGES=$tmp/packages LIBRARY='' "$source/tests/bindings/python.sh" 2 "$source/bindings/examples/weights.py"
