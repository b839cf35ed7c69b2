/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the calls of <equipoise/balancer.h>. */
#ifndef BALANCER_BALANCER_H
#define BALANCER_BALANCER_H

#include "run/run.h"

/* create.c: checks of the caller's arguments, and fingerprints of them. Local. */
bool eqp__can_be_choice(const eqp_choice *choice);
bool eqp__can_be_speeds(int n, const double *speed);
bool eqp__can_be_capacities(const eqp_capacities *capacities);
int64_t eqp__print_capacities(int64_t print, const eqp_capacities *capacities);
int64_t eqp__print_network(int64_t print, const eqp_network *network);

/* False, with a message, if owners cannot live where the choice puts them. message: may be NULL. Local. */
bool eqp__can_live(const eqp_balancer *b, const eqp_choice *choice, eqp_message *message);

/* advise.c: memory that parts need and have. Local. */
eqp_part_memory eqp__memory_with(const eqp_balancer *b, const eqp_capacities *capacities);

/* How a method makes maps in this run and in its what-ifs. Local. */
eqp_map_options eqp__balancer_map_options(const eqp_balancer *b, const eqp_choice *choice);

/* Asks the problem for the phases of its cycle. Collective if it has a cycle. */
int eqp__ask_cycle(eqp_balancer *b);

#endif
