/* SPDX-License-Identifier: BSD-3-Clause */
/* What the app does where nothing else is said. */
#ifndef BH_DEFAULTS_H
#define BH_DEFAULTS_H

#define BH_DEFAULT_THETA 0.6
#define BH_DEFAULT_LEAF_SIZE 16
#define BH_DEFAULT_GROUP_SIZE 32
#define BH_DEFAULT_ALPHA 0.001

#endif
