/* SPDX-License-Identifier: BSD-3-Clause */
/* Fills an evaluation with loads, blocks and needs. Block numbers are arbitrary; a hash table gives each a small
 * index in order of first use. Most needs repeat a recent one, which a small table detects without access to the
 * other tables. */
#include "evaluation.h"

#include "base/internal.h"

#include <math.h>

enum { RECENT_BITS = 16, FIRST_SLOT_BITS = 6 };

static uint64_t spread(uint64_t x)
{
    x ^= x >> 32;
    return x * UINT64_C(0x9e3779b97f4a7c15);
}

static int slots_create(int bits, eqp__slot **slot)
{
    EQP__CHECK(eqp_array_create(slot, INT64_C(1) << bits, sizeof **slot));
    memset(*slot, 0xff, sizeof **slot << bits);
    return EQP_OK;
}

int eqp_evaluation_create(int nparts, int nphases, const int *back, const int *ghosts, eqp_evaluation **evaluation)
{
    eqp_evaluation *e = NULL;
    int code;

    EQP__FAIL_IF(nparts < 1 || nparts > EQP__PARTS_MAX || nphases < 0 || nphases > EQP_PHASES_MAX ||
                     (nphases > 0 && (!back || !ghosts)) || !evaluation,
                 EQP_ERR_ARGUMENT);
    EQP_TRY(eqp_array_create(&e, 1, sizeof *e));
    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(e->load, nparts), EQP__ARRAY(e->common, nparts), EQP__ARRAY(e->held, nparts),
                        EQP__ARRAY(e->ghosts, nparts), EQP__ARRAY(e->recent, 1 << RECENT_BITS)));
    e->nparts = nparts;
    e->nphases = nphases;
    memset(e->recent, 0xff, sizeof *e->recent << RECENT_BITS);
    for (int k = 0; k < nphases; k++) {
        eqp__evaluated_phase *phase = &e->phase[k];
        phase->back = back[k] != 0;
        phase->ghosts = ghosts[k] != 0;
        phase->slot_bits = FIRST_SLOT_BITS;
        EQP_TRY(slots_create(FIRST_SLOT_BITS, &phase->slot));
        EQP_TRY(eqp__needs_create(&phase->needs));
        EQP_TRY(eqp_array_create(&phase->meanwhile, nparts, sizeof *phase->meanwhile));
    }
    *evaluation = e;
    e = NULL;
done:
    eqp_evaluation_free(e);
    return code;
}

void eqp_evaluation_free(eqp_evaluation *e)
{
    if (!e) {
        return;
    }
    eqp__evaluation_forget_order(e);
    for (int k = 0; k < EQP_PHASES_MAX; k++) {
        EQP__FREE(e->phase[k].block, e->phase[k].slot);
        eqp__needs_free(e->phase[k].needs);
        free(e->phase[k].meanwhile);
    }
    EQP__FREE(e->load, e->speed, e->capacity, e->own, e->common, e->held, e->ghosts, e->recent, e);
}

static int add_seconds(int nparts, double *sum, int part, double seconds)
{
    EQP__FAIL_IF(part < 0 || part >= nparts, EQP_ERR_ARGUMENT);
    EQP__FAIL_IF(!(seconds >= 0) || !isfinite(seconds), EQP_ERR_DATA);
    EQP__FAIL_IF(!isfinite(sum[part] + seconds), EQP_ERR_OVERFLOW);
    sum[part] += seconds;
    return EQP_OK;
}

int eqp_evaluation_load(eqp_evaluation *e, int part, double seconds)
{
    return e ? add_seconds(e->nparts, e->load, part, seconds) : EQP_ERR_ARGUMENT;
}

int eqp_evaluation_meanwhile(eqp_evaluation *e, int phase, int part, double seconds)
{
    return e && phase >= 0 && phase < e->nphases ? add_seconds(e->nparts, e->phase[phase].meanwhile, part, seconds)
                                                 : EQP_ERR_ARGUMENT;
}

int eqp__evaluation_speeds(eqp_evaluation *e, const double *speed)
{
    double *made = NULL, mean = 0;

    EQP__FAIL_IF(!e, EQP_ERR_ARGUMENT);
    for (int p = 0; p < e->nparts && speed; p++) {
        EQP__FAIL_IF(!(speed[p] > 0) || !isfinite(speed[p]), EQP_ERR_DATA);
        mean += speed[p] / e->nparts;
    }
    EQP__FAIL_IF(!isfinite(mean), EQP_ERR_DATA);
    EQP__CHECK(speed ? eqp_array_create(&made, e->nparts, sizeof *made) : EQP_OK);
    for (int p = 0; p < e->nparts && speed; p++) {
        made[p] = speed[p] / mean;
    }
    free(e->speed);
    e->speed = made;
    return EQP_OK;
}

static int add_count(int nparts, int64_t *count, int part, int64_t n)
{
    EQP__FAIL_IF(part < 0 || part >= nparts || n < 0, EQP_ERR_ARGUMENT);
    EQP__FAIL_IF(n > INT64_MAX - count[part], EQP_ERR_OVERFLOW);
    count[part] += n;
    return EQP_OK;
}

int eqp_evaluation_common(eqp_evaluation *e, int part, int64_t bytes)
{
    return e ? add_count(e->nparts, e->common, part, bytes) : EQP_ERR_ARGUMENT;
}

int eqp_evaluation_held(eqp_evaluation *e, int part, int64_t elements)
{
    return e ? add_count(e->nparts, e->held, part, elements) : EQP_ERR_ARGUMENT;
}

int eqp__evaluation_overhead(eqp_evaluation *e, const eqp_overhead *overhead)
{
    const eqp_overhead none = {0}, *o = overhead ? overhead : &none;

    EQP__FAIL_IF(!e, EQP_ERR_ARGUMENT);
    EQP__FAIL_IF(!eqp__is_amount(o->held) || !eqp__is_amount(o->ghost) || !eqp__is_amount(o->byte) ||
                     !eqp__is_amount(o->part) || o->calls < 0 || o->gathers < 0 || o->gathered < 0 || o->handshakes < 0,
                 EQP_ERR_DATA);
    e->overhead = *o;
    return EQP_OK;
}

int eqp_evaluation_memory(eqp_evaluation *e, const eqp_memory *memory, const double *capacity, double of_mean)
{
    const eqp_memory none = {0}, *m = memory ? memory : &none;
    double *made = NULL;

    EQP__FAIL_IF(!e || (capacity && of_mean != 0), EQP_ERR_ARGUMENT);
    EQP__FAIL_IF(!eqp__is_amount(m->fixed) || !eqp__is_amount(m->held) || !eqp__is_amount(m->ghost) ||
                     !eqp__is_amount(m->byte) || !eqp__is_amount(of_mean),
                 EQP_ERR_DATA);
    for (int p = 0; p < e->nparts && capacity; p++) {
        EQP__FAIL_IF(!eqp__is_amount(capacity[p]) || capacity[p] == 0, EQP_ERR_DATA);
    }
    if (capacity) {
        EQP__CHECK(eqp_array_create(&made, e->nparts, sizeof *made));
        memcpy(made, capacity, (size_t)e->nparts * sizeof *made);
    }
    free(e->capacity);
    e->capacity = made;
    e->memory = *m;
    e->of_mean = of_mean;
    return EQP_OK;
}

int eqp__evaluation_own(eqp_evaluation *e, const double *bytes)
{
    EQP__CHECK(e->own ? EQP_OK : eqp_array_create(&e->own, e->nparts, sizeof *e->own));
    memcpy(e->own, bytes, (size_t)e->nparts * sizeof *bytes);
    return EQP_OK;
}

/* Memory of an ordered block: bytes, elements, first user, home; users and places during the ordering. */
#define ORDERED_BLOCK (5 * sizeof(int64_t) + sizeof(int))

double eqp__evaluation_bytes(const eqp_evaluation *e)
{
    double bytes = (double)(sizeof *e + (sizeof *e->recent << RECENT_BITS));

    for (int k = 0; k < e->nphases; k++) {
        const eqp__evaluated_phase *phase = &e->phase[k];
        bytes += (double)phase->capacity * sizeof *phase->block + ldexp(sizeof *phase->slot, phase->slot_bits) +
                 (double)phase->nblocks * ORDERED_BLOCK + eqp__needs_bytes(phase->needs);
    }
    return bytes + e->nparts * (e->nphases + 6) * (double)sizeof *e->load;
}

const double *eqp__evaluation_loads(const eqp_evaluation *e)
{
    return e ? e->load : NULL;
}

/* The slot that holds a number, or the empty slot for it. */
static eqp__slot *slot_of(eqp__slot *slot, int bits, int64_t number)
{
    const uint64_t mask = (UINT64_C(1) << bits) - 1;
    uint64_t at = spread((uint64_t)number) >> (64 - bits);

    while (slot[at].index >= 0 && slot[at].number != number) {
        at = (at + 1) & mask;
    }
    return &slot[at];
}

int64_t eqp__evaluation_find(const eqp__evaluated_phase *phase, int64_t number)
{
    return slot_of(phase->slot, phase->slot_bits, number)->index;
}

static int grow_slots(eqp__evaluated_phase *phase)
{
    const int bits = phase->slot_bits + 1;
    eqp__slot *slot;

    EQP__CHECK(slots_create(bits, &slot));
    for (int64_t i = 0; i < phase->nblocks; i++) {
        *slot_of(slot, bits, phase->block[i].number) = (eqp__slot){phase->block[i].number, i};
    }
    free(phase->slot);
    phase->slot = slot;
    phase->slot_bits = bits;
    return EQP_OK;
}

int eqp__evaluation_index(eqp__evaluated_phase *phase, int64_t number, int64_t *index)
{
    eqp__slot *slot = slot_of(phase->slot, phase->slot_bits, number);

    if (slot->index < 0) {
        EQP__CHECK(eqp_array_reserve(&phase->block, &phase->capacity, phase->nblocks + 1, sizeof *phase->block));
        if (phase->nblocks >= INT64_C(1) << (phase->slot_bits - 1)) {
            EQP__CHECK(grow_slots(phase));
            slot = slot_of(phase->slot, phase->slot_bits, number);
        }
        phase->block[phase->nblocks] = (eqp__block){number, 0, 0, -1};
        *slot = (eqp__slot){number, phase->nblocks++};
    }
    *index = slot->index;
    return EQP_OK;
}

int eqp__blocks_agree(const eqp__block *a, const eqp__block *b)
{
    return a->home < 0 || b->home < 0 || (a->home == b->home && a->bytes == b->bytes && a->elements == b->elements);
}

int eqp_evaluation_block(eqp_evaluation *e, int phase, int64_t block, int64_t bytes, int64_t elements, int home)
{
    const eqp__block declared = {block, bytes, elements, home};
    int64_t index;

    EQP__FAIL_IF(!e || phase < 0 || phase >= e->nphases || bytes < 0 || elements < 0 || home < 0 || home >= e->nparts,
                 EQP_ERR_ARGUMENT);
    EQP__CHECK(eqp__evaluation_index(&e->phase[phase], block, &index));
    EQP__FAIL_IF(!eqp__blocks_agree(&e->phase[phase].block[index], &declared), EQP_ERR_DATA);
    e->phase[phase].block[index] = declared;
    e->is_ordered = 0;
    return EQP_OK;
}

/* Two candidate slots for a recent need, so that colliding needs do not evict each other in turn. */
static eqp__recent *recent_pair(const eqp_evaluation *e, int phase, int64_t block, int part)
{
    const uint64_t h = spread((uint64_t)block ^ (uint64_t)part << 40 ^ (uint64_t)phase << 60);

    return &e->recent[h >> (65 - RECENT_BITS) << 1];
}

static int is_recent(const eqp__recent *recent, int phase, int64_t block, int part)
{
    return recent->number == block && recent->part == part && recent->phase == phase;
}

int eqp_evaluation_need(eqp_evaluation *e, int phase, int64_t block, int part)
{
    eqp__recent *pair;
    int64_t index;

    EQP__FAIL_IF(!e || phase < 0 || phase >= e->nphases || part < 0 || part >= e->nparts, EQP_ERR_ARGUMENT);
    pair = recent_pair(e, phase, block, part);
    if (is_recent(&pair[0], phase, block, part) || is_recent(&pair[1], phase, block, part)) {
        return EQP_OK;
    }
    EQP__CHECK(eqp__evaluation_index(&e->phase[phase], block, &index));
    EQP__CHECK(eqp__needs_add(e->phase[phase].needs, index, part));
    pair[1] = pair[0];
    pair[0] = (eqp__recent){block, phase, part};
    e->is_ordered = 0;
    return EQP_OK;
}
