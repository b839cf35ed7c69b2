/* SPDX-License-Identifier: BSD-3-Clause */
/* Offers and answers as bytes. */
#include "late/offer.h"

#include "late/lazy.h"
#include "methods/frame/frame.h"

static const char offer_magic[8] = "EQPOFF4", answer_magic[8] = "EQPMAP2";

/* -1: too many. */
static int64_t bytes_of(int64_t n, size_t size)
{
    return n >= 0 && (size == 0 || n <= INT64_MAX / 8 / (int64_t)size) ? n * (int64_t)size : -1;
}

_Static_assert(EQP__OWNER_WORDS <= 64 && sizeof(eqp_owner) % sizeof(uint64_t) == 0, "a bit for each word");

static void find_words(const eqp_survey *survey, eqp__late_head *h)
{
    uint64_t word[EQP__OWNER_WORDS], differs[EQP__OWNER_WORDS] = {0};

    if (survey->n > 0) {
        memcpy(h->usual, &survey->owner[0], sizeof h->usual);
    }
    for (int64_t i = 1; i < survey->n; i++) {
        memcpy(word, &survey->owner[i], sizeof word);
        for (int w = 0; w < EQP__OWNER_WORDS; w++) {
            differs[w] |= word[w] ^ h->usual[w];
        }
    }
    for (int w = 0; w < EQP__OWNER_WORDS; w++) {
        h->varies |= (uint64_t)(differs[w] != 0) << w;
    }
}

int eqp__late_words(const eqp__late_head *head, int *word)
{
    int n = 0;

    for (int w = 0; w < EQP__OWNER_WORDS; w++) {
        if (head->varies >> w & 1) {
            word[n++] = w;
        }
    }
    return n;
}

static void write_owners(const eqp_survey *survey, const eqp__late_head *h, eqp__cursor *c)
{
    uint64_t all[EQP__OWNER_WORDS], some[EQP__OWNER_WORDS];
    int word[EQP__OWNER_WORDS];
    const int n = eqp__late_words(h, word);

    for (int64_t i = 0; i < survey->n; i++) {
        memcpy(all, &survey->owner[i], sizeof all);
        for (int k = 0; k < n; k++) {
            some[k] = all[word[k]];
        }
        eqp__pass(c, some, (size_t)n * sizeof *some);
    }
}

static void fill_head(const eqp_balancer *b, const eqp_names *home, const eqp_map_options *options, double life,
                      eqp__late_head *h)
{
    const eqp_survey *survey = &b->survey;
    const eqp_choice *choice = &b->options.method;

    memset(h, 0, sizeof *h); /* no uninitialized bytes */
    memcpy(h->magic, offer_magic, sizeof offer_magic);
    if (b->rank == 0) {
        h->nbase = options->base != NULL ? b->nparts : 0;
        h->nspeeds = options->speeds.n;
        h->nfactors = options->factor != NULL ? b->nparts : 0;
        h->table = eqp__table_of(b->run.has_map ? b->map : NULL);
    }
    h->front = (int64_t)((size_t)(h->nbase + h->nspeeds + h->nfactors) * sizeof(double) + eqp__table_bytes(&h->table));
    h->nnames = home->n;
    h->nowners = survey->n;
    h->npins = survey->pins_taken;
    h->ntiles = survey->tiles_taken;
    find_words(survey, h);
    memcpy(h->word, choice->word, sizeof h->word);
    h->strategy = choice->options.strategy;
    h->rate = choice->options.rate;
    h->threshold = choice->options.threshold;
    h->imbalance_tol = options->imbalance_tol;
    h->assign_tol = options->assign_tol;
    h->branch = options->branch;
    h->aspect = options->aspect;
    h->life = life;
    h->seed = options->seed;
    h->plan = b->plan;
    h->network = b->options.network;
    h->plan_auto = b->options.plan_auto;
    h->has_map = b->run.has_map;
    h->once = b->model.once;
    h->apart = b->problem.apart;
    h->phases = eqp__survey_cycles(survey) ? survey->model.phases : h->phases;
    memcpy(h->nominal, b->nominal, sizeof h->nominal);
    h->costs = b->costs;
    h->overheads = b->overheads;
    h->totals = b->totals;
}

static void write_all(const eqp_balancer *b, const eqp_names *home, const eqp_map_options *options, eqp__late_head *h,
                      eqp__cursor *c)
{
    const eqp_survey *survey = &b->survey;

    eqp__pass(c, h, sizeof *h);
    eqp__pass(c, (void *)(uintptr_t)options->base, (size_t)h->nbase * sizeof(double));
    eqp__pass(c, (void *)(uintptr_t)options->speeds.of, (size_t)h->nspeeds * sizeof(double));
    eqp__pass(c, (void *)(uintptr_t)options->factor, (size_t)h->nfactors * sizeof(double));
    if (eqp__table_bytes(&h->table) > 0) {
        eqp__table_write(c, b->map);
    }
    eqp__pass(c, home->key, (size_t)home->n * sizeof *home->key);
    for (int64_t i = 0; i < home->n; i++) {
        int64_t tag = home->present[i].tag;
        eqp__pass(c, &tag, sizeof tag);
    }
    write_owners(survey, h, c);
    eqp__pass(c, survey->pin, (size_t)h->npins * sizeof *survey->pin);
    eqp__pass(c, survey->tile, (size_t)h->ntiles * sizeof *survey->tile);
    eqp__pass(c, survey->phase, (size_t)h->nowners * (size_t)h->phases.n * sizeof *survey->phase);
}

static int64_t body_of(const eqp__late_head *h)
{
    int word[EQP__OWNER_WORDS];
    const size_t owner = (size_t)eqp__late_words(h, word) * sizeof(uint64_t);
    const int64_t part[] = {bytes_of(h->nnames, 2 * sizeof(int64_t)), bytes_of(h->nowners, owner),
                            bytes_of(h->npins, sizeof(int64_t)), bytes_of(h->ntiles, sizeof(eqp_tile)),
                            bytes_of(h->nowners, (size_t)h->phases.n * sizeof(double))};
    int64_t sum = 0;

    for (int i = 0; i < 5; i++) {
        sum = part[i] >= 0 && sum >= 0 ? sum + part[i] : -1;
    }
    return sum;
}

int eqp__late_offer_write(const eqp_balancer *b, const eqp_names *home, const eqp_map_options *options, double life,
                          size_t *size, void **bytes)
{
    eqp__late_head h;

    fill_head(b, home, options, life, &h);
    const int64_t all = (int64_t)sizeof h + h.front + body_of(&h);
    EQP_CHECK(eqp__lazy_room(b->options.lazy, all, bytes));
    eqp__cursor c = {*bytes, false};
    write_all(b, home, options, &h, &c);
    *size = (size_t)all;
    return EQP_OK;
}

static bool can_be_head(const eqp__late_head *h, int nranks, int64_t size)
{
    const size_t bytes = (size_t)size;
    const bool can_be_phases =
        h->phases.n == 0 || (h->phases.n > 1 && eqp__phases_check(h->phases.n, h->phases.times) == EQP_OK);
    const bool counts = (h->nbase == 0 || h->nbase == nranks) && h->nspeeds >= 0 && h->nspeeds <= nranks &&
                        (h->nfactors == 0 || h->nfactors == nranks) && eqp__can_be_table(&h->table, bytes);

    return memcmp(h->magic, offer_magic, sizeof offer_magic) == 0 && h->varies >> (EQP__OWNER_WORDS - 1) <= 1 &&
           (h->varies != 0 || h->nowners <= 1) && h->costs.fit.nkinds >= 1 && h->costs.fit.nkinds <= EQP_COST_KINDS &&
           counts && can_be_phases && body_of(h) >= 0 &&
           h->front == (int64_t)((size_t)(h->nbase + h->nspeeds + h->nfactors) * sizeof(double) +
                                 eqp__table_bytes(&h->table)) &&
           h->front <= size && body_of(h) == size - h->front && memchr(h->word, 0, sizeof h->word) != NULL;
}

int eqp__late_offer_read(const eqp_lazy_parcel *parcel, int nranks, eqp__late_offer *offer)
{
    const unsigned char *at = parcel->data;
    eqp__late_head *h = &offer->head;

    EQP__FAIL_IF(parcel->bytes < sizeof *h, EQP_ERR_FORMAT);
    memcpy(h, at, sizeof *h);
    EQP__FAIL_IF(!can_be_head(h, nranks, (int64_t)(parcel->bytes - sizeof *h)), EQP_ERR_FORMAT);
    offer->rank = parcel->rank;
    offer->nwords = eqp__late_words(h, offer->word);
    offer->front = at + sizeof *h;
    offer->names = offer->front + h->front;
    offer->owners = offer->names + 2 * (size_t)h->nnames * sizeof(int64_t);
    offer->pins = offer->owners + (size_t)h->nowners * (size_t)offer->nwords * sizeof(uint64_t);
    offer->tiles = offer->pins + (size_t)h->npins * sizeof(int64_t);
    offer->phases = offer->tiles + (size_t)h->ntiles * sizeof(eqp_tile);
    return EQP_OK;
}

int eqp__late_answer_write(const eqp_balancer *b, const eqp_new_map *found, int64_t first, int64_t n,
                           eqp_lazy_parcel *answer)
{
    eqp__late_answer head;
    unsigned char *made = NULL;

    memset(&head, 0, sizeof head);
    memcpy(head.magic, answer_magic, sizeof answer_magic);
    head.kept = found->map == NULL;
    head.nplacements = head.kept ? 0 : n;
    head.table = eqp__table_of(found->map);
    head.plan = b->plan;
    head.made = found->made;
    memcpy(head.chosen, b->now.chosen, sizeof head.chosen);
    memcpy(head.why, b->now.why, sizeof head.why);
    const int64_t all =
        (int64_t)(sizeof head + eqp__table_bytes(&head.table)) + head.nplacements * (int64_t)sizeof *found->placement;
    EQP_CHECK(eqp_array_create(&made, all, 1));
    eqp__cursor c = {made, false};
    eqp__pass(&c, &head, sizeof head);
    eqp__table_write(&c, found->map);
    if (!head.kept) {
        eqp__pass(&c, found->placement + first, (size_t)n * sizeof *found->placement);
    }
    answer->bytes = (size_t)all;
    answer->data = made;
    return EQP_OK;
}

static bool can_be_answer(const eqp__late_answer *a, int64_t nhome, size_t size)
{
    return memcmp(a->magic, answer_magic, sizeof answer_magic) == 0 && eqp__can_be_table(&a->table, size) &&
           a->nplacements == (a->kept ? 0 : nhome) &&
           size == eqp__table_bytes(&a->table) + (size_t)a->nplacements * sizeof(eqp_placement) &&
           memchr(a->chosen, 0, sizeof a->chosen) != NULL && memchr(a->why, 0, sizeof a->why) != NULL;
}

/* True if every placement is a rank or a shared owner of the table. */
static bool can_be_placements(const eqp_new_map *found, int64_t n, int nranks)
{
    const int64_t nshared = eqp_map_shared(found->map);
    bool can_be = true;

    for (int64_t i = 0; i < n && can_be; i++) {
        const eqp_placement *p = &found->placement[i];
        can_be = p->home >= 0 && p->home < nranks && p->tag < nranks && p->tag >= -nshared;
    }
    return can_be;
}

int eqp__late_answer_read(const eqp_lazy_parcel *parcel, int nranks, int64_t nhome, eqp__late_answer *answer,
                          eqp_new_map *found)
{
    int code = EQP_OK;

    EQP__FAIL_IF(parcel->bytes < sizeof *answer, EQP_ERR_FORMAT);
    memcpy(answer, parcel->data, sizeof *answer);
    EQP__FAIL_IF(!can_be_answer(answer, nhome, parcel->bytes - sizeof *answer), EQP_ERR_FORMAT);
    if (!answer->kept) {
        eqp__cursor c = {(unsigned char *)parcel->data + sizeof *answer, true};
        EQP_TRY(eqp__table_read(&c, &answer->table, nranks, &found->map));
        EQP_TRY(eqp_array_create(&found->placement, nhome, sizeof *found->placement));
        eqp__pass(&c, found->placement, (size_t)nhome * sizeof *found->placement);
        EQP_TRY(can_be_placements(found, nhome, nranks) ? EQP_OK : EQP_ERR_FORMAT);
    }
    found->made = answer->made;
done:
    if (code != EQP_OK) {
        eqp__new_map_free(found);
        *found = (eqp_new_map){.map = NULL};
    }
    return code;
}
