#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Fortran and Python have the structs of the headers: sizes, member offsets and constants agree.
# usage: layout.sh SOURCE_ROOT FORTRAN|'' COMPILER...
set -eu
source=$1 fortran=$2
shift 2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export PYTHONDONTWRITEBYTECODE=1
python3 "$source/bindings/structs.py" --layout "$tmp"
# No struct contains an MPI type, so any MPI will do.
read -r -a mpi <<<"$(pkg-config --cflags ompi-c 2>/dev/null || mpicc -show | tr ' ' '\n' | grep '^-I' | tr '\n' ' ')"
"$@" -std=c11 "${mpi[@]}" -I"$source/sampling/include" -I"$source/lib/include" "$tmp/layout.c" -o "$tmp/layout_c"
"$tmp/layout_c" >"$tmp/wanted"
# ctypes.
python3 "$source/bindings/structs.py" "$tmp/_structs.py"
python3 "$source/bindings/structs.py" --layout-python "$tmp/_structs.py" >"$tmp/python"
diff "$tmp/wanted" "$tmp/python"
said="C and Python"
if [ -n "$fortran" ]; then
    cd "$tmp"
    python3 "$source/bindings/structs.py" equipoise.f90
    sed '/^end module equipoise_types/q' equipoise.f90 >types.f90
    "$fortran" types.f90 layout.f90 -o layout_f
    ./layout_f >found
    diff wanted found
    said="C, Python and Fortran"
fi
[ "$(wc -l <"$tmp/wanted")" -gt 300 ]
echo "$(wc -l <"$tmp/wanted") places: $said agree"
