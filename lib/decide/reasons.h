/* SPDX-License-Identifier: BSD-3-Clause */
/* Reasons for a map, by the policy and by the rest of a balancer. Pure functions. */
#ifndef DECIDE_REASONS_H
#define DECIDE_REASONS_H

#include "decide/outlook.h"
#include "decide/policy.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct eqp__reasons {
    bool has_map;
    bool keeps;       /* the method never makes a map */
    bool repairable;  /* a repair can move a few owners instead of all */
    bool asked;       /* the caller wants a new map */
    bool automatic;   /* `auto` should look for a better method */
    bool feedback;    /* `feedback` takes another step */
    bool speeds;      /* measured speeds differ from those of the map */
    bool calibration; /* measured loads differ from the predicted ones */
    bool overheads;   /* a map made for the measured overhead of the ranks is worth its cost */
    bool memory;      /* a rank is near its capacity */
    double memory_use;
} eqp__reasons;

eqp_policy_action eqp__reasons_action(const eqp__reasons *reasons, const eqp_policy *policy);

/* Stores the first reason as text; used if making the map gives no better one. */
void eqp__reasons_tell(const eqp__reasons *reasons, const eqp_policy *policy, eqp_message *why);

/* True if a rank is near its capacity, and nearer than when the map was made. use, made: largest used fraction of a
 * capacity. */
bool eqp__memory_wants(double use, double made);

/* Expected life of a map made now: that of the last map (50 steps for the first), within 1 and the steps left. */
eqp_lives eqp__expected_lives(const eqp_policy *policy, int64_t left);

bool eqp__every_step(const eqp_policy *policy);

#endif
