/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages and bytes of every part in a phase. The routes of a block form a tree: its users, ordered by distance
 * from its home, differ from their predecessor from some digit on, and each nonzero digit from there is one more
 * hop. The cost of a block is proportional to its hops, and blocks are never copied. A bit records if a hop is a
 * message of its own or travels with an earlier block: one row of bits for the home, as blocks are processed by
 * home, and, for later stages, where radixes are small, one row per part. Returning data is counted as if it went
 * out. */
#include "traffic.h"

#include "network.h"

enum { WORD_BITS = 64 };

typedef struct way_stage {
    int stride, mask; /* mask: clears the digits after this one if the stride is a power of 2, else 0 */
    int radix;        /* largest digit + 1 */
    int64_t row;      /* words of bits for one part */
    uint64_t *seen;   /* [level][rows][row] bits by part and digit; the first stage has one row, for the present home */
    int64_t *sent, *received;                   /* [level][nparts] bytes */
    int64_t *messages_sent, *messages_received; /* [level][nparts] that no lower level has */
} way_stage;

typedef struct ledger {
    const eqp_phase *phase;
    const eqp__plan_family *family;
    int nparts, nlevels;
    eqp__stages stages;
    way_stage stage[EQP__STAGES_MAX];
    int64_t *hot_bytes;  /* [level][nparts] of blocks that live there */
    int64_t *hot_blocks; /* [level][node] in each lane */
} ledger;

static int64_t rows_of(const ledger *l, int stage)
{
    return stage == 0 ? 1 : l->nparts;
}

static void ledger_free(ledger *l)
{
    for (int j = 0; j < l->stages.n; j++) {
        EQP__FREE(l->stage[j].seen, l->stage[j].sent, l->stage[j].received, l->stage[j].messages_sent,
                  l->stage[j].messages_received);
    }
    EQP__FREE(l->hot_bytes, l->hot_blocks);
}

static int stage_create(ledger *l, int j)
{
    const int64_t slab = (int64_t)l->nlevels * l->nparts;
    const int span = j > 0 ? l->stages.stride[j - 1] : l->stages.nnodes;
    way_stage *s = &l->stage[j];

    s->stride = l->stages.stride[j];
    s->mask = (s->stride & (s->stride - 1)) == 0 ? -s->stride : 0;
    s->radix = (span + s->stride - 1) / s->stride;
    s->row = (s->radix + WORD_BITS - 1) / WORD_BITS;
    return EQP__ARRAYS(EQP__ARRAY(s->seen, l->nlevels * rows_of(l, j) * s->row), EQP__ARRAY(s->sent, slab),
                       EQP__ARRAY(s->received, slab), EQP__ARRAY(s->messages_sent, slab),
                       EQP__ARRAY(s->messages_received, slab));
}

static int ledger_create(ledger *l)
{
    const eqp_exchange_plan plan = {l->family->stages, 0, l->family->node};

    EQP__CHECK(eqp__stages_make(&plan, l->nparts, &l->stages));
    l->nlevels = l->family->nlevels;
    for (int j = 0; j < l->stages.n; j++) {
        EQP__CHECK(stage_create(l, j));
    }
    return EQP__ARRAYS(EQP__ARRAY(l->hot_bytes, (int64_t)(l->nlevels + 1) * l->nparts),
                       EQP__ARRAY(l->hot_blocks, (int64_t)(l->nlevels + 1) * l->stages.node));
}

/* First plan that does not broadcast a block with this many users; nlevels if all do. */
static int level_of(const ledger *l, int64_t users)
{
    int level = 0;

    while (level < l->nlevels) {
        const eqp_exchange_plan plan = {l->family->stages, l->family->broadcast[level], l->family->node};
        if (!eqp__is_hot(&plan, l->nparts, users)) {
            break;
        }
        level++;
    }
    return level;
}

static inline int up_to_digit(const way_stage *s, int distance)
{
    return s->mask ? distance & s->mask : distance - distance % s->stride;
}

/* Hops to a node at some distance that the previous node does not share. */
static void add_ways(ledger *l, int level, int home, int distance, int before, int64_t bytes)
{
    const eqp__stages *stages = &l->stages;
    const int node = home / stages->node, lane = home % stages->node;
    int here = 0;

    for (int j = 0; j < stages->n; j++) {
        way_stage *s = &l->stage[j];
        const int there = up_to_digit(s, distance);
        if (there != here && there != up_to_digit(s, before)) {
            const int digit = (there - here) / s->stride;
            const int from = eqp__further(stages, node, here) * stages->node + lane;
            const int to = eqp__further(stages, node, there) * stages->node + lane;
            const int64_t row = level * rows_of(l, j) + (j > 0 ? from : 0);
            s->seen[row * s->row + digit / WORD_BITS] |= UINT64_C(1) << (digit % WORD_BITS);
            s->sent[(int64_t)level * l->nparts + from] += bytes;
            s->received[(int64_t)level * l->nparts + to] += bytes;
        }
        here = there;
    }
}

static void add_block(ledger *l, int64_t b)
{
    const eqp_phase *phase = l->phase;
    const int64_t n = phase->first[b + 1] - phase->first[b], bytes = phase->bytes[b];
    const int home = phase->home[b], node = home / l->stages.node, *part;
    int64_t split = 0, behind, users = n;
    int level, before = 0;

    if (n == 0) {
        return;
    }
    part = phase->part + phase->first[b];
    while (split < n && part[split] / l->stages.node < node) {
        split++;
    }
    for (behind = split; behind < n && part[behind] / l->stages.node == node; behind++) {
        users -= part[behind] == home;
    }
    if (users == 0) {
        return;
    }
    level = level_of(l, users);
    for (int hot = 0; hot < level; hot++) {
        l->hot_bytes[(int64_t)hot * l->nparts + home] += bytes;
        l->hot_blocks[(int64_t)hot * l->stages.node + home % l->stages.node]++;
    }
    /* around the ring: nodes after the home come first */
    for (int64_t k = 0; level < l->nlevels && k < n - (behind - split); k++) {
        const int user = part[k < n - behind ? behind + k : k - (n - behind)] / l->stages.node;
        const int distance = eqp__distance(&l->stages, node, user);
        if (distance != before) {
            add_ways(l, level, home, distance, before, bytes);
            before = distance;
        }
    }
}

/* Counts the messages in the bits of one part, each at the lowest level that has it. Clears the bits. */
static void count_row(ledger *l, int j, int from)
{
    const eqp__stages *stages = &l->stages;
    way_stage *s = &l->stage[j];
    const int node = from / stages->node, lane = from % stages->node;

    for (int64_t word = 0; word < s->row; word++) {
        uint64_t known = 0;
        for (int level = 0; level < l->nlevels; level++) {
            uint64_t *seen = &s->seen[(level * rows_of(l, j) + (j > 0 ? from : 0)) * s->row + word];
            uint64_t fresh = *seen & ~known;
            known |= *seen;
            *seen = 0;
            for (int digit = (int)word * WORD_BITS; fresh; fresh >>= 1, digit++) {
                if (fresh & 1) {
                    const int to = eqp__further(stages, node, digit * s->stride) * stages->node + lane;
                    s->messages_sent[(int64_t)level * l->nparts + from]++;
                    s->messages_received[(int64_t)level * l->nparts + to]++;
                }
            }
        }
    }
}

static void walk(ledger *l)
{
    const eqp_phase *phase = l->phase;
    int home = -1;

    for (int64_t b = 0; b < phase->nblocks; b++) {
        if (home >= 0 && phase->home[b] != home && l->stages.n > 0) {
            count_row(l, 0, home);
        }
        home = phase->home[b];
        add_block(l, b);
    }
    if (home >= 0 && l->stages.n > 0) {
        count_row(l, 0, home);
    }
    for (int j = 1; j < l->stages.n; j++) {
        for (int p = 0; p < l->nparts; p++) {
            count_row(l, j, p);
        }
    }
}

/* Adds one stage of one part. */
static void record(const eqp_traffic *t, const eqp_network *network, int part, int64_t messages_sent,
                   int64_t messages_received, int64_t bytes_sent, int64_t bytes_received)
{
    eqp__add_if(t->messages_sent, part, messages_sent);
    eqp__add_if(t->messages_received, part, messages_received);
    eqp__add_if(t->bytes_sent, part, bytes_sent);
    eqp__add_if(t->bytes_received, part, bytes_received);
    if (t->seconds) {
        t->seconds[part] += network->alpha * (double)eqp__larger(messages_sent, messages_received) +
                            network->beta * (double)eqp__larger(bytes_sent, bytes_received);
    }
}

/* Routes of all blocks that this level's plan does not broadcast. */
static void record_stage(const ledger *l, int j, int level, const eqp_network *network, const eqp_traffic *t)
{
    const way_stage *s = &l->stage[j];

    for (int p = 0; p < l->nparts; p++) {
        int64_t sent = 0, received = 0, messages_sent = 0, messages_received = 0;
        for (int k = 0; k <= level; k++) {
            const int64_t at = (int64_t)k * l->nparts + p;
            sent += s->sent[at];
            received += s->received[at];
            messages_sent += s->messages_sent[at];
            messages_received += s->messages_received[at];
        }
        if (l->phase->back) {
            record(t, network, p, messages_received, messages_sent, received, sent);
        } else {
            record(t, network, p, messages_sent, messages_received, sent, received);
        }
    }
}

/* Allgather or reduce-scatter of one lane: a part counts the bytes of all other nodes, as received and as sent.
 * network: NULL: without seconds. */
static void record_lane(const int64_t *bytes, int lane, int node, int nparts, const eqp_network *network,
                        const eqp_traffic *t)
{
    const eqp_network of_gather = network ? eqp__network_of_gather(network) : (eqp_network)EQP_NETWORK_DEFAULTS;
    const int messages = eqp__log2_ceil(nparts / node);
    int64_t all = 0;

    for (int p = lane; p < nparts; p += node) {
        all += bytes[p];
    }
    for (int p = lane; p < nparts; p += node) {
        const int64_t others = messages > 0 ? all - bytes[p] : 0;
        record(t, &of_gather, p, messages, messages, others, others);
    }
}

static void record_level(const ledger *l, int level, const eqp_network *network, const eqp_traffic *t)
{
    for (int j = 0; j < l->stages.n; j++) {
        record_stage(l, j, level, network, t);
    }
    for (int lane = 0; lane < l->stages.node; lane++) {
        if (l->hot_blocks[(int64_t)level * l->stages.node + lane] > 0) {
            record_lane(l->hot_bytes + (int64_t)level * l->nparts, lane, l->stages.node, l->nparts, network, t);
        }
    }
}

int eqp__traffic_count(const eqp_phase *phase, int nparts, const eqp__plan_family *family, const eqp_network *network,
                       const eqp_traffic *traffic)
{
    ledger l = {.phase = phase, .family = family, .nparts = nparts};
    const int code = ledger_create(&l);

    if (code == EQP_OK) {
        walk(&l);
        for (int level = 0; level < l.nlevels; level++) {
            record_level(&l, level, network, &traffic[level]);
        }
    }
    ledger_free(&l);
    return code;
}

int eqp__traffic_check(const eqp_traffic *t, int nparts)
{
    const int64_t *const array[] = {t->messages_sent, t->messages_received, t->bytes_sent, t->bytes_received};

    for (int k = 0; k < 4; k++) {
        for (int p = 0; array[k] && p < nparts; p++) {
            EQP__FAIL_IF(array[k][p] > INT64_MAX / 4, EQP_ERR_OVERFLOW);
        }
    }
    return EQP_OK;
}

int eqp__exchange_count_all(const int64_t *bytes, int nparts, const eqp_network *network, const eqp_traffic *traffic)
{
    int64_t all = 0;

    EQP__FAIL_IF(!bytes || nparts < 1 || !traffic || (traffic->seconds && !network), EQP_ERR_ARGUMENT);
    for (int p = 0; p < nparts; p++) {
        EQP__FAIL_IF(bytes[p] < 0, EQP_ERR_ARGUMENT);
        EQP__FAIL_IF(eqp__traffic_add(&all, bytes[p], 1), EQP_ERR_OVERFLOW);
    }
    EQP__FAIL_IF(eqp__traffic_check(traffic, nparts), EQP_ERR_OVERFLOW);
    if (all > 0) {
        record_lane(bytes, 0, 1, nparts, network, traffic);
    }
    return EQP_OK;
}
