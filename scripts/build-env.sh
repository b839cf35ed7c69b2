# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
# Finds the programs, libraries and the Python package of build/ as if they were installed. To be sourced from the top of
# the tree.

for folder in report referee loadbench dislocation barneshut; do
    PATH=$PWD/build/apps/$folder:$PATH
done
unset folder
export PATH="$PWD/build/preload:$PATH"
export PKG_CONFIG_PATH="$PWD/build/meson-uninstalled${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
export LD_LIBRARY_PATH="$PWD/build/lib:$PWD/build/sampling:$PWD/build/bindings${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export PYTHONPATH="$PWD/build/bindings/python${PYTHONPATH:+:$PYTHONPATH}"
