#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Installs the Fortran module files, for which Meson has no rule.
# usage: install_modules.sh BUILD_FOLDER FOLDER   (FOLDER below the prefix; run by `meson install`)
set -eu
to=$MESON_INSTALL_DESTDIR_PREFIX/$2
mkdir -p "$to"
cp "$1"/equipoise*.mod "$to"
chmod 644 "$to"/equipoise*.mod
