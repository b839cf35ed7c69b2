/* SPDX-License-Identifier: BSD-3-Clause */
/* Diffusion carried out by moving whole elements across the borders of parts. */
#include "methods/diffusion/diffusion.h"

#include "base/internal.h"

#include <math.h>
#include <string.h>

/* Simulated imbalance at the end of a round, as a fraction of the threshold. The margin allows for whole elements. */
#define AIM 0.5

/* Most steps of a round. More steps would route load through parts that its elements have not reached yet. */
#define ROUND_STEPS 16

/* An element that may go over a link. */
typedef struct candidate {
    int64_t element, link;
    double gain; /* edge weight to the new part - edge weight to the old part */
} candidate;

/* Elements examined in a pass, each listed once. */
typedef struct list {
    int64_t n;
    int64_t *element; /* room for all elements */
} list;

typedef struct mover {
    const eqp_elements *e;
    int *part;              /* [n] present parts */
    eqp_part_graph graph;   /* of the round */
    eqp__diffusion state;   /* simulated loads */
    double *load;           /* [nparts] present load of the elements */
    double largest, wanted; /* largest load / scale at the beginning of the round, and the one simulated for its end */
    int64_t *count;         /* [nparts] present number of elements */
    double *left;           /* [links] load still to receive over a link; < 0: to give */
    double *touch;          /* [nparts] edge weight between the present element and a part; zeros between elements */
    bool *listed;           /* [n] the element is in the next list */
    list now, next;
    candidate *candidates; /* [n] */
    double least;          /* imbalance before the last round */
} mover;

static double weight_of(const eqp_elements *e, int64_t i)
{
    return e->weight != NULL ? e->weight[i] : 1.0;
}

static double edge_weight_of(const eqp_elements *e, int64_t k)
{
    return e->edge_weight != NULL ? e->edge_weight[k] : 1.0;
}

static int open_mover(const eqp_elements *e, int nparts, mover *m)
{
    m->e = e;
    EQP__CHECK(EQP__ARRAYS(EQP__ARRAY(m->part, e->n), EQP__ARRAY(m->load, nparts), EQP__ARRAY(m->count, nparts),
                           EQP__ARRAY(m->touch, nparts), EQP__ARRAY(m->listed, e->n), EQP__ARRAY(m->now.element, e->n),
                           EQP__ARRAY(m->next.element, e->n), EQP__ARRAY(m->candidates, e->n)));
    memcpy(m->part, e->part, (size_t)e->n * sizeof *m->part);
    return EQP_OK;
}

/* Load still to give over link k. */
static double to_go(const mover *m, int64_t k)
{
    return -m->left[k];
}

static bool sends(const mover *m, int p)
{
    bool some = false;

    for (int64_t k = m->graph.neighbour_first[p]; k < m->graph.neighbour_first[p + 1] && !some; k++) {
        some = to_go(m, k) > 0.0;
    }
    return some;
}

static void add_to_next(mover *m, int64_t i)
{
    if (!m->listed[i]) {
        m->listed[i] = true;
        m->next.element[m->next.n++] = i;
    }
}

/* Sums the edge weights from an element to each part. */
static void touch_parts(mover *m, int64_t i)
{
    for (int64_t k = m->e->edge_first[i]; k < m->e->edge_first[i + 1]; k++) {
        m->touch[m->part[m->e->edge[k]]] += edge_weight_of(m->e, k);
    }
}

static void forget_parts(mover *m, int64_t i)
{
    for (int64_t k = m->e->edge_first[i]; k < m->e->edge_first[i + 1]; k++) {
        m->touch[m->part[m->e->edge[k]]] = 0.0;
    }
}

/* True if the load still to give over a link is at least half of the element's weight, or is positive and the
 * receiver stays lighter than the giver is now. Without the second case small flows would never move anything. */
static bool is_worth(const mover *m, int p, int64_t k, double weight)
{
    const int q = m->graph.neighbour[k];
    const double left = to_go(m, k), *scale = m->state.scale;

    return left >= 0.5 * weight || (left > 0.0 && (m->load[q] + weight) / scale[q] < m->load[p] / scale[p]);
}

/* The link over which an element may move, to the part with most edge weight; -1: none. gain: as in candidate. */
static int64_t find_way(mover *m, int64_t i, double *gain)
{
    const int p = m->part[i];
    const double weight = weight_of(m->e, i);
    int64_t way = -1;
    double most = 0.0;

    if (!(weight > 0.0)) {
        return -1;
    }
    touch_parts(m, i);
    for (int64_t k = m->graph.neighbour_first[p]; k < m->graph.neighbour_first[p + 1]; k++) {
        const double touched = m->touch[m->graph.neighbour[k]];
        if (touched > most && is_worth(m, p, k, weight)) {
            most = touched;
            way = k;
        }
    }
    *gain = most - m->touch[p];
    forget_parts(m, i);
    return way;
}

static int by_gain(const void *a, const void *b)
{
    const candidate *x = a, *y = b;

    if (x->gain != y->gain) {
        return x->gain > y->gain ? -1 : 1;
    }
    return (x->element > y->element) - (x->element < y->element);
}

/* True if part q accepts an element from part p: q must not exceed the largest load at the beginning of the round,
 * and must be below the largest simulated load or stay lighter than p. The last condition keeps parts along a flow
 * from filling up before they pass elements on. */
static bool takes(const mover *m, int p, int q, double weight)
{
    const double after = (m->load[q] + weight) / m->state.scale[q];

    return after <= m->largest &&
           (m->load[q] + 0.5 * weight <= m->wanted * m->state.scale[q] || after < m->load[p] / m->state.scale[p]);
}

static bool may_go(const mover *m, const candidate *c)
{
    const int p = m->part[c->element], q = m->graph.neighbour[c->link];
    const double weight = weight_of(m->e, c->element);

    return is_worth(m, p, c->link, weight) && m->count[p] > 1 && takes(m, p, q, weight);
}

static void go(mover *m, const candidate *c)
{
    const int64_t i = c->element;
    const int p = m->part[i], q = m->graph.neighbour[c->link];
    const double weight = weight_of(m->e, i);

    m->part[i] = q;
    m->left[c->link] += weight;
    m->load[p] -= weight;
    m->load[q] += weight;
    m->count[p]--;
    m->count[q]++;
    for (int64_t k = m->e->edge_first[i]; k < m->e->edge_first[i + 1]; k++) {
        add_to_next(m, m->e->edge[k]);
    }
}

/* Moves one layer of elements across all borders. Returns the number of elements moved. */
static int64_t move_layer(mover *m)
{
    int64_t n = 0, moved = 0;

    for (int64_t k = 0; k < m->now.n; k++) {
        candidate c = {.element = m->now.element[k]};
        c.link = find_way(m, c.element, &c.gain);
        if (c.link >= 0) {
            m->candidates[n++] = c;
        }
    }
    qsort(m->candidates, (size_t)n, sizeof *m->candidates, by_gain);
    m->next.n = 0;
    for (int64_t k = 0; k < n; k++) {
        const bool goes = may_go(m, &m->candidates[k]);
        if (goes) {
            go(m, &m->candidates[k]);
        }
        moved += goes;
        add_to_next(m, m->candidates[k].element);
    }
    return moved;
}

/* Carries out the flows of a round layer by layer, starting with all elements of parts that give load. Returns the
 * number of elements moved. */
static int64_t move_elements(mover *m)
{
    int64_t moved, sum = 0;

    m->now.n = 0;
    for (int p = 0; p < m->graph.nparts; p++) {
        m->load[p] = m->graph.load[p];
        m->count[p] = sends(m, p); /* temporarily: nonzero for parts that give */
    }
    for (int64_t i = 0; i < m->e->n; i++) {
        if (m->count[m->part[i]] > 0) {
            m->now.element[m->now.n++] = i;
        }
    }
    memcpy(m->count, m->graph.elements, (size_t)m->graph.nparts * sizeof *m->count);
    while ((moved = move_layer(m)) > 0) {
        const list done = m->now;
        m->now = m->next;
        m->next = done;
        for (int64_t k = 0; k < m->now.n; k++) {
            m->listed[m->now.element[k]] = false;
        }
        sum += moved;
    }
    for (int64_t k = 0; k < m->next.n; k++) {
        m->listed[m->next.element[k]] = false;
    }
    return sum;
}

/* Simulates the flows of a round, at most `steps` steps. Returns the number of steps. */
static int64_t find_flows(mover *m, double threshold, int64_t steps)
{
    int64_t s = 0;

    while (s < steps && (s == 0 || eqp__diffusion_imbalance(&m->state) > AIM * threshold)) {
        eqp__diffusion_step(&m->state, m->left);
        s++;
    }
    return s;
}

/* One round. *steps: remaining steps; set to 0 if another round would have no effect. */
static int do_round(mover *m, int nparts, const eqp_diffusion_options *o, int64_t *steps)
{
    const eqp_elements here = {m->e->n, m->e->weight, m->part, m->e->edge_first, m->e->edge, m->e->edge_weight};
    eqp_part_graph *graph = NULL;
    double imbalance, stable;
    int code;

    m->state = (eqp__diffusion){.scale = NULL};
    m->left = NULL;
    EQP_TRY(eqp__part_graph_create(&here, nparts, &graph));
    m->graph = *graph;
    stable = eqp__diffusion_stable(&m->graph);
    EQP_TRY(eqp__diffusion_open(&m->graph, m->graph.load, o->gamma > 0.0 ? fmin(o->gamma, stable) : stable, o->share,
                                &m->state));
    EQP_TRY(eqp_array_create(&m->left, m->graph.neighbour_first[nparts], sizeof *m->left));
    m->largest = eqp__diffusion_largest(&m->state);
    imbalance = eqp__diffusion_imbalance(&m->state);
    if (imbalance <= o->threshold || !(imbalance < m->least)) {
        *steps = 0;
        goto done;
    }
    m->least = imbalance;
    *steps -= find_flows(m, o->threshold, *steps < ROUND_STEPS ? *steps : ROUND_STEPS);
    m->wanted = eqp__diffusion_largest(&m->state);
    if (move_elements(m) == 0) {
        *steps = 0;
    }
done:
    eqp__diffusion_close(&m->state);
    free(m->left);
    eqp__part_graph_free(graph);
    return code;
}

int eqp__diffusion_move(const eqp_elements *elements, int nparts, const eqp_diffusion_options *options, int *part)
{
    mover m = {.least = INFINITY};
    int64_t steps = options->steps;
    int code;

    if (elements->n == 0) {
        return EQP_OK;
    }
    EQP_TRY(open_mover(elements, nparts, &m));
    while (steps > 0) {
        EQP_TRY(do_round(&m, nparts, options, &steps));
    }
    memcpy(part, m.part, (size_t)elements->n * sizeof *part);
done:
    EQP__FREE(m.part, m.load, m.count, m.touch, m.listed, m.now.element, m.next.element, m.candidates);
    return code;
}
