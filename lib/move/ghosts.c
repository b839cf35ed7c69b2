/* SPDX-License-Identifier: BSD-3-Clause */
/* Ghost plans: what every part has to fetch, from which part. */
#include <equipoise/more/base.h>
#include <equipoise/more/move.h>

#include <stdlib.h>

struct eqp_ghost_plan {
    int nparts;
    int64_t npairs, nghosts;
    int *to, *from;
    int64_t *first, *id, *recv_pair, *send_pair, *by_sender, *ghosts, *sent;
    uint32_t *images;
};

typedef struct need {
    int to, from;
    int64_t id;
    uint32_t images;
} need;

/* Arguments of eqp_ghost_plan_create_periodic(). */
typedef struct requests {
    int64_t n;
    const int *part;
    const int64_t *id;
    const int *image;
    int64_t nids;
    const int64_t *known;
    const int *home;
    int nparts;
} requests;

/* Order of needs; the images of one id are one need. */
static int by_receiver(const void *a, const void *b)
{
    const need *x = a, *y = b;

    if (x->to != y->to) {
        return x->to < y->to ? -1 : 1;
    }
    if (x->from != y->from) {
        return x->from < y->from ? -1 : 1;
    }
    return (x->id > y->id) - (x->id < y->id);
}

/* Place of an id in the table, or -1. */
static int64_t find_id(int64_t nids, const int64_t *known, int64_t id)
{
    int64_t lo = 0, hi = nids;

    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (known[mid] < id) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo < nids && known[lo] == id ? lo : -1;
}

static int check(const requests *r)
{
    if (r->n < 0 || r->nids < 0 || r->nparts < 1 || (r->n > 0 && (!r->part || !r->id)) ||
        (r->nids > 0 && (!r->known || !r->home))) {
        return EQP_ERR_ARGUMENT;
    }
    for (int64_t k = 0; k < r->nids; k++) {
        if ((k > 0 && r->known[k - 1] >= r->known[k]) || r->home[k] < 0 || r->home[k] >= r->nparts) {
            return EQP_ERR_ARGUMENT;
        }
    }
    for (int64_t i = 0; i < r->n; i++) {
        if (r->part[i] < 0 || r->part[i] >= r->nparts || (r->image && (r->image[i] < 0 || r->image[i] >= EQP_IMAGES))) {
            return EQP_ERR_ARGUMENT;
        }
    }
    return EQP_OK;
}

/* The requests that are not met at home, ordered, each id once for a part; returns a code. */
static int find_needs(const requests *r, need *needs, int64_t *nneeds)
{
    int64_t found = 0, kept = 0;

    for (int64_t i = 0; i < r->n; i++) {
        int64_t k = find_id(r->nids, r->known, r->id[i]);
        if (k < 0) {
            return EQP_ERR_UNKNOWN;
        }
        if (r->home[k] != r->part[i]) {
            const int image = r->image ? r->image[i] : EQP_IMAGE_SELF;
            needs[found++] = (need){r->part[i], r->home[k], r->id[i], UINT32_C(1) << image};
        }
    }
    qsort(needs, (size_t)found, sizeof *needs, by_receiver);
    for (int64_t i = 0; i < found; i++) {
        if (kept > 0 && by_receiver(&needs[kept - 1], &needs[i]) == 0) {
            needs[kept - 1].images |= needs[i].images;
        } else {
            needs[kept++] = needs[i];
        }
    }
    *nneeds = kept;
    return EQP_OK;
}

static int starts_pair(const need *needs, int64_t i)
{
    return i == 0 || needs[i].to != needs[i - 1].to || needs[i].from != needs[i - 1].from;
}

static int plan_allocate(eqp_ghost_plan *g)
{
    int64_t parts = g->nparts;
    int code;

    if ((code = eqp_array_create(&g->to, g->npairs, sizeof *g->to)) ||
        (code = eqp_array_create(&g->from, g->npairs, sizeof *g->from)) ||
        (code = eqp_array_create(&g->first, g->npairs + 1, sizeof *g->first)) ||
        (code = eqp_array_create(&g->id, g->nghosts, sizeof *g->id)) ||
        (code = eqp_array_create(&g->images, g->nghosts, sizeof *g->images)) ||
        (code = eqp_array_create(&g->recv_pair, parts + 1, sizeof *g->recv_pair)) ||
        (code = eqp_array_create(&g->send_pair, parts + 1, sizeof *g->send_pair)) ||
        (code = eqp_array_create(&g->by_sender, g->npairs, sizeof *g->by_sender)) ||
        (code = eqp_array_create(&g->ghosts, parts, sizeof *g->ghosts)) ||
        (code = eqp_array_create(&g->sent, parts, sizeof *g->sent))) {
        return code;
    }
    return EQP_OK;
}

/* The sender's side: the same pairs, by a stable counting sort of `from`. */
static void order_by_sender(eqp_ghost_plan *g)
{
    for (int64_t k = 0; k < g->npairs; k++) {
        g->send_pair[g->from[k] + 1]++;
    }
    for (int p = 0; p < g->nparts; p++) {
        g->send_pair[p + 1] += g->send_pair[p];
    }
    for (int64_t k = 0; k < g->npairs; k++) {
        g->by_sender[g->send_pair[g->from[k]]++] = k;
    }
    for (int p = g->nparts; p > 0; p--) {
        g->send_pair[p] = g->send_pair[p - 1];
    }
    g->send_pair[0] = 0;
}

static void plan_fill(eqp_ghost_plan *g, const need *needs)
{
    int64_t k = -1;

    for (int64_t i = 0; i < g->nghosts; i++) {
        if (starts_pair(needs, i)) {
            k++;
            g->to[k] = needs[i].to;
            g->from[k] = needs[i].from;
            g->first[k] = i;
            g->recv_pair[needs[i].to + 1]++;
        }
        g->id[i] = needs[i].id;
        g->images[i] = needs[i].images;
        g->ghosts[needs[i].to]++;
        g->sent[needs[i].from]++;
    }
    g->first[g->npairs] = g->nghosts;
    for (int p = 0; p < g->nparts; p++) {
        g->recv_pair[p + 1] += g->recv_pair[p];
    }
    order_by_sender(g);
}

int eqp_image_shift(int image, const double box[3], double shift[3])
{
    EQP_REQUIRE(image >= 0 && image < EQP_IMAGES && box && shift);
    for (int a = 0; a < 3; a++, image /= 3) {
        const int lengths = image % 3 - 1;
        shift[a] = lengths == 0 ? 0.0 : lengths * box[a];
    }
    return EQP_OK;
}

int eqp_ghost_plan_create_periodic(int64_t n, const int *part, const int64_t *id, const int *image, int64_t nids,
                                   const int64_t *known, const int *home, int nparts, eqp_ghost_plan **plan)
{
    const requests r = {n, part, id, image, nids, known, home, nparts};
    eqp_ghost_plan *g = NULL;
    need *needs = NULL;
    int64_t nneeds = 0;
    int code = plan ? check(&r) : EQP_ERR_ARGUMENT;

    if (code || (code = eqp_array_create(&g, 1, sizeof *g)) || (code = eqp_array_create(&needs, n, sizeof *needs)) ||
        (code = find_needs(&r, needs, &nneeds))) {
        goto done;
    }
    g->nparts = nparts;
    g->nghosts = nneeds;
    for (int64_t i = 0; i < nneeds; i++) {
        g->npairs += starts_pair(needs, i);
    }
    if ((code = plan_allocate(g))) {
        goto done;
    }
    plan_fill(g, needs);
    *plan = g;
    g = NULL;
done:
    eqp_ghost_plan_free(g);
    free(needs);
    return code;
}

int eqp_ghost_plan_create(int64_t n, const int *part, const int64_t *id, int64_t nids, const int64_t *known,
                          const int *home, int nparts, eqp_ghost_plan **plan)
{
    return eqp_ghost_plan_create_periodic(n, part, id, NULL, nids, known, home, nparts, plan);
}

eqp_ghost_view eqp_ghost_plan_arrays(const eqp_ghost_plan *g)
{
    if (!g) {
        return (eqp_ghost_view){0};
    }
    eqp_ghost_view v = {.nparts = g->nparts,
                        .npairs = g->npairs,
                        .nghosts = g->nghosts,
                        .to = g->to,
                        .from = g->from,
                        .first = g->first,
                        .id = g->id,
                        .images = g->images,
                        .recv_pair = g->recv_pair,
                        .send_pair = g->send_pair,
                        .by_sender = g->by_sender,
                        .ghosts = g->ghosts,
                        .sent = g->sent};

    for (int p = 0; p < g->nparts; p++) {
        int64_t neighbours = g->recv_pair[p + 1] - g->recv_pair[p];
        v.ghosts_max = g->ghosts[p] > v.ghosts_max ? g->ghosts[p] : v.ghosts_max;
        v.sent_max = g->sent[p] > v.sent_max ? g->sent[p] : v.sent_max;
        v.neighbours_max = neighbours > v.neighbours_max ? (int)neighbours : v.neighbours_max;
    }
    return v;
}

void eqp_ghost_plan_free(eqp_ghost_plan *g)
{
    if (!g) {
        return;
    }
    free(g->to);
    free(g->from);
    free(g->first);
    free(g->id);
    free(g->images);
    free(g->recv_pair);
    free(g->send_pair);
    free(g->by_sender);
    free(g->ghosts);
    free(g->sent);
    free(g);
}
