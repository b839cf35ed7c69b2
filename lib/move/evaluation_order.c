/* SPDX-License-Identifier: BSD-3-Clause */
/* Orders the phases of an evaluation by homes, to count traffic, and computes the results that do not depend on the
 * plan: ghosts and neighbours. */
#include "evaluation.h"
#include "traffic.h"

static void ordered_free(eqp__ordered *o)
{
    EQP__FREE(o->bytes, o->elements, o->first, o->home, o->part);
    *o = (eqp__ordered){0};
}

void eqp__evaluation_forget_order(eqp_evaluation *e)
{
    for (int k = 0; k < EQP_PHASES_MAX; k++) {
        ordered_free(&e->phase[k].ordered);
    }
    e->is_ordered = 0;
}

/* users[i]: number of parts other than its home that need block i. *nblocks: blocks with users; *nneeds: sum of
 * their users. */
static int count_users(const eqp__evaluated_phase *phase, int64_t nkeys, const uint64_t *key, int64_t *users,
                       int64_t *nblocks, int64_t *nneeds)
{
    *nblocks = *nneeds = 0;
    for (int64_t i = 0; i < nkeys; i++) {
        const int64_t b = eqp__key_block(key[i]);
        EQP__FAIL_IF(phase->block[b].home < 0, EQP_ERR_UNKNOWN);
        if (phase->block[b].home != eqp__key_part(key[i])) {
            *nblocks += users[b]++ == 0;
            (*nneeds)++;
        }
    }
    return EQP_OK;
}

/* Orders the blocks by homes. users[i] becomes the position of block i's first user. */
static void place_blocks(const eqp__evaluated_phase *phase, int nparts, int64_t *place, int64_t *users, eqp__ordered *o)
{
    int64_t next = 0;

    for (int64_t b = 0; b < phase->nblocks; b++) {
        if (users[b] > 0) {
            place[phase->block[b].home + 1]++;
        }
    }
    for (int p = 0; p < nparts; p++) {
        place[p + 1] += place[p];
    }
    for (int64_t b = 0; b < phase->nblocks; b++) {
        if (users[b] > 0) {
            const eqp__block *block = &phase->block[b];
            const int64_t k = place[block->home]++;
            o->bytes[k] = block->bytes;
            o->elements[k] = block->elements;
            o->home[k] = block->home;
            o->first[k] = b; /* temporarily */
        }
    }
    for (int64_t k = 0; k < o->n; k++) {
        const int64_t b = o->first[k], n = users[b];
        o->first[k] = users[b] = next;
        next += n;
    }
    o->first[o->n] = next;
}

static int order_phase(eqp__evaluated_phase *phase, int nparts)
{
    const uint64_t *key;
    eqp__ordered o = {0};
    int64_t nkeys, nneeds, *users = NULL, *place = NULL;
    int code;

    EQP_TRY(eqp__needs_keys(phase->needs, &nkeys, &key));
    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(users, phase->nblocks), EQP__ARRAY(place, nparts + 1)));
    EQP_TRY(count_users(phase, nkeys, key, users, &o.n, &nneeds));
    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(o.bytes, o.n), EQP__ARRAY(o.elements, o.n), EQP__ARRAY(o.first, o.n + 1),
                        EQP__ARRAY(o.home, o.n), EQP__ARRAY(o.part, nneeds)));
    place_blocks(phase, nparts, place, users, &o);
    for (int64_t k = 0, bytes = 0, elements = 0; k < o.n; k++) {
        EQP_TRY(eqp__traffic_add(&bytes, o.bytes[k], o.first[k + 1] - o.first[k]));
        EQP_TRY(eqp__traffic_add(&elements, o.elements[k], o.first[k + 1] - o.first[k]));
    }
    for (int64_t i = 0; i < nkeys; i++) {
        const int64_t b = eqp__key_block(key[i]);
        if (phase->block[b].home != eqp__key_part(key[i])) {
            o.part[users[b]++] = eqp__key_part(key[i]);
        }
    }
    phase->ordered = o;
    o = (eqp__ordered){0};
done:
    ordered_free(&o);
    EQP__FREE(users, place);
    return code;
}

static void count_ghosts(eqp_evaluation *e)
{
    e->ghosts_total = e->ghosts_max = 0;
    memset(e->ghosts, 0, (size_t)e->nparts * sizeof *e->ghosts);
    for (int k = 0; k < e->nphases; k++) {
        const eqp__ordered *o = &e->phase[k].ordered;
        for (int64_t b = 0; e->phase[k].ghosts && !e->phase[k].back && b < o->n; b++) {
            for (int64_t i = o->first[b]; i < o->first[b + 1]; i++) {
                e->ghosts[o->part[i]] += o->elements[b];
            }
        }
    }
    for (int p = 0; p < e->nparts; p++) {
        e->ghosts_total += e->ghosts[p];
        e->ghosts_max = e->ghosts[p] > e->ghosts_max ? e->ghosts[p] : e->ghosts_max;
    }
}

/* Passes by homes through all phases, since several blocks of one home make one neighbour. */
static int count_neighbours(eqp_evaluation *e)
{
    int64_t next[EQP_PHASES_MAX] = {0};
    int *last = NULL, *homes = NULL; /* [parts] last home that the part needs a block of, + 1; number of its homes */
    int code;

    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(last, e->nparts), EQP__ARRAY(homes, e->nparts)));
    e->neighbours_max = 0;
    for (int home = 0; home < e->nparts; home++) {
        int users = 0;
        for (int k = 0; k < e->nphases; k++) {
            const eqp__ordered *o = &e->phase[k].ordered;
            for (; next[k] < o->n && o->home[next[k]] == home; next[k]++) {
                for (int64_t i = o->first[next[k]]; i < o->first[next[k] + 1]; i++) {
                    const int fresh = last[o->part[i]] != home + 1;
                    last[o->part[i]] = home + 1;
                    homes[o->part[i]] += fresh;
                    users += fresh;
                }
            }
        }
        e->neighbours_max = users > e->neighbours_max ? users : e->neighbours_max;
    }
    for (int p = 0; p < e->nparts; p++) {
        e->neighbours_max = homes[p] > e->neighbours_max ? homes[p] : e->neighbours_max;
    }
done:
    EQP__FREE(last, homes);
    return code;
}

int eqp__evaluation_order(eqp_evaluation *e)
{
    int code = EQP_OK;

    if (e->is_ordered) {
        return EQP_OK;
    }
    eqp__evaluation_forget_order(e);
    for (int k = 0; k < e->nphases; k++) {
        EQP_TRY(order_phase(&e->phase[k], e->nparts));
    }
    EQP_TRY(count_neighbours(e));
    count_ghosts(e);
    e->is_ordered = 1;
done:
    if (code) {
        eqp__evaluation_forget_order(e);
    }
    return code;
}
