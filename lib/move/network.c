/* SPDX-License-Identifier: BSD-3-Clause */
#include "network.h"

#include "traffic.h"

#include <math.h>

bool eqp__network_valid(const eqp_network *network)
{
    return eqp__is_amount(network->alpha) && eqp__is_amount(network->beta) && network->node >= 1 &&
           eqp__is_amount(network->reduce) && eqp__is_amount(network->gather) && eqp__is_amount(network->gather_byte);
}

static double either(double own, double of_messages)
{
    return own > 0 ? own : of_messages;
}

double eqp__network_reduction(const eqp_network *network, int nparts)
{
    return eqp__log2_ceil(nparts) * either(network->reduce, network->alpha);
}

eqp_network eqp__network_of_gather(const eqp_network *network)
{
    return (eqp_network){.alpha = either(network->gather, network->alpha),
                         .beta = either(network->gather_byte, network->beta),
                         .node = network->node};
}

double eqp__network_gathering(const eqp_network *network, int nparts, double bytes)
{
    const eqp_network of = eqp__network_of_gather(network);

    return eqp__log2_ceil(nparts) * of.alpha + bytes * of.beta;
}

static double deviation(int n, const double *bytes, const double *seconds, double first, double per_byte)
{
    double sum = 0;

    for (int i = 0; i < n; i++) {
        sum += fabs(first + per_byte * bytes[i] - seconds[i]) / seconds[i];
    }
    return sum;
}

void eqp__network_fit(int n, const double *bytes, const double *seconds, double *first, double *per_byte)
{
    double least = INFINITY;

    for (int i = 0; i < n; i++) {
        for (int j = -2; j < n; j++) { /* -2: level, -1: through the origin */
            const bool is_steep = j >= 0 && bytes[j] > bytes[i];
            const double slope = is_steep                  ? (seconds[j] - seconds[i]) / (bytes[j] - bytes[i])
                                 : j == -1 && bytes[i] > 0 ? seconds[i] / bytes[i]
                                                           : 0;
            const double start = j == -1 && bytes[i] > 0 ? 0 : seconds[i] - slope * bytes[i];
            const double found = slope >= 0 && start >= 0 ? deviation(n, bytes, seconds, start, slope) : INFINITY;
            if (found < least) {
                least = found;
                *first = start;
                *per_byte = slope;
            }
        }
    }
}

/* Number of ranks before this one on its node. */
static int place_on_node(const int *node, int rank)
{
    int place = 0;

    for (int r = 0; r < rank; r++) {
        place += node[r] == node[rank];
    }
    return place;
}

bool eqp__network_pairs(int n, const int *node, int *partner)
{
    bool apart = false;
    int waiting = -1;

    for (int r = 0; r < n; r++) {
        partner[r] = -1;
    }
    /* first ranks of all nodes, then their second ranks, and so on: neighbours in that order are pairs */
    for (int place = 0, done = 0; done < n; place++) {
        for (int r = 0; r < n; r++) {
            if (place_on_node(node, r) != place) {
                continue;
            }
            done++;
            if (waiting >= 0) {
                partner[r] = waiting;
                partner[waiting] = r;
                apart = apart || node[r] != node[waiting];
                waiting = -1;
            } else {
                waiting = r;
            }
        }
    }
    return apart;
}
