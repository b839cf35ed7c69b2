/* SPDX-License-Identifier: BSD-3-Clause */
#include "failing_malloc.h"
#include "kdtree_check.h"
#include "slow.h"
#include "unit.h"

#include <equipoise/more/kdtree.h>
#include <equipoise/more/random.h>

#include <float.h>

#define MAX_POINTS 600

enum kind { UNIFORM, LATTICE, EQUAL, LINE, AXIS, CLUSTERS, HALVES, HUGE_RANGE, TINY, PLANE, FAR, KINDS };

#define REAL double
#define TREE eqp_kdtree
#define CALL(name) eqp_kdtree_##name
#define CHECK eqp__kdtree_check
#define USE eqp__kdtree_use
#define T(name) name##_double
#define LARGEST DBL_MAX
#define LARGEST_EXPONENT 300.0
#define SMALLEST 4.9406564584124654e-324
#include "kdtree_cases.h"
