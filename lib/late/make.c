/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes a map from offers: creates a balancer whose problem is the offers. */
#include "late/offer.h"

#include "methods/frame/frame.h"

#include <equipoise/more/comm.h>

/* Location of a rank's owners while the map is made. */
typedef struct location {
    int rank, balancer;
    int64_t first; /* index there of its first owner */
} location;

/* All offers to this balancer as one survey. Owners live with the balancers. */
typedef struct gathered {
    int64_t n;
    eqp__late_offer *offer; /* [n] */
    eqp__late_head head;    /* rank 0's, the same for all */
    unsigned char *front;   /* rank 0's */
    double *speeds;         /* from the front, aligned */
    double *factor;
    double *base;
    location *location; /* [ranks of the application] */
    eqp_names names;
    eqp_survey survey;
    eqp_map *table; /* of the present map */
    eqp_work_model model;
} gathered;

static void gathered_free(gathered *g)
{
    EQP__FREE(g->offer, g->front, g->speeds, g->location);
    eqp__names_free(&g->names);
    eqp__survey_release(&g->survey);
    eqp_map_free(g->table);
}

/* Copies an owner with the requested pins and tiles; an offer has those of the most detailed survey. */
static int copy_owner(const gathered *g, const eqp_owner *owner, const int64_t *pin, const eqp_tile *tile,
                      const double *phase, eqp_survey *survey)
{
    const bool heavy = eqp_survey_weigh(survey, owner->count) >= eqp_survey_heavy(survey);

    for (int64_t p = 0; p < owner->npins; p++) {
        if (eqp_pin_key(g->head.seed, pin[p]) < eqp_survey_pin_below(survey)) {
            EQP_CHECK(eqp_survey_add_pin(survey, pin[p]));
        }
    }
    for (int64_t t = 0; t < owner->ntiles && heavy; t++) {
        EQP_CHECK(eqp_survey_add_tile(survey, &tile[t]));
    }
    EQP_CHECK(phase != NULL ? eqp_survey_add_phases(survey, phase) : EQP_OK);
    return eqp_survey_add_owner(survey, owner);
}

/* eqp_problem.survey, from the owners that an offer has gathered. user: the struct gathered. */
static int survey_again(void *user, eqp_survey_kind kind, eqp_survey *survey)
{
    const gathered *g = user;
    const int64_t *pin = g->survey.pin;
    const eqp_tile *tile = g->survey.tile;
    int code = EQP_OK;

    (void)kind; /* a survey of the work contains the names */
    for (int64_t i = 0; i < g->survey.n && code == EQP_OK; i++) {
        const eqp_owner *owner = &g->survey.owner[i];
        const double *phase = g->head.phases.n > 0 ? g->survey.phase + i * g->head.phases.n : NULL;
        code = copy_owner(g, owner, pin, tile, phase, survey);
        pin = owner->npins > 0 ? pin + owner->npins : pin;
        tile = owner->ntiles > 0 ? tile + owner->ntiles : tile;
    }
    return code;
}

/* Agrees with the other balancers; a thread is alone. */
static int agreed(MPI_Comm comm, int code)
{
    return comm != MPI_COMM_NULL ? eqp_agree(comm, code, NULL) : code;
}

static void add_base(void *user, int nparts, double *seconds)
{
    const gathered *g = user;

    for (int p = 0; p < nparts; p++) {
        seconds[p] += g->base[p];
    }
}

static int gather_names(gathered *g)
{
    for (int64_t i = 0; i < g->n; i++) {
        g->names.n += g->offer[i].head.nnames;
    }
    EQP_CHECK(EQP__ARRAYS(EQP__ARRAY(g->names.key, g->names.n), EQP__ARRAY(g->names.present, g->names.n)));
    for (int64_t i = 0, at = 0; i < g->n; i++) {
        const eqp__late_offer *o = &g->offer[i];
        eqp__cursor c = {(unsigned char *)(uintptr_t)o->names, true};
        eqp__pass(&c, g->names.key + at, (size_t)o->head.nnames * sizeof *g->names.key);
        for (int64_t k = 0; k < o->head.nnames; k++, at++) {
            eqp__pass(&c, &g->names.present[at].tag, sizeof g->names.present[at].tag);
            g->names.present[at].home = o->rank;
        }
    }
    eqp__names_sort(&g->names);
    return EQP_OK;
}

static int read_owner(const gathered *g, int nranks, const eqp__late_offer *o, eqp__cursor *c, eqp_owner *owner)
{
    uint64_t all[EQP__OWNER_WORDS], some[EQP__OWNER_WORDS];

    memcpy(all, o->head.usual, sizeof all);
    eqp__pass(c, some, (size_t)o->nwords * sizeof *some);
    for (int k = 0; k < o->nwords; k++) {
        all[o->word[k]] = some[k];
    }
    memcpy(owner, all, sizeof *owner);
    EQP__FAIL_IF(owner->home < 0 || owner->home >= nranks || owner->at_home < 0 || owner->npins < 0 ||
                     owner->ntiles < 0,
                 EQP_ERR_FORMAT);
    for (int k = 0; k < o->head.costs.fit.nkinds; k++) {
        EQP__FAIL_IF(owner->count[k] < 0, EQP_ERR_DATA);
    }
    const location *s = &g->location[owner->home];
    owner->at_home += s->first;
    owner->home = s->balancer;
    return EQP_OK;
}

static int add_offer(gathered *g, const eqp__late_offer *o, int nranks)
{
    eqp__cursor owners = {(unsigned char *)(uintptr_t)o->owners, true},
                pins = {(unsigned char *)(uintptr_t)o->pins, true},
                tiles = {(unsigned char *)(uintptr_t)o->tiles, true},
                phases = {(unsigned char *)(uintptr_t)o->phases, true};
    int64_t npins = o->head.npins, ntiles = o->head.ntiles, *room;
    int code = EQP_OK;

    for (int64_t i = 0; i < o->head.nowners && code == EQP_OK; i++) {
        eqp_owner owner;
        eqp_tile tile;
        EQP_TRY(read_owner(g, nranks, o, &owners, &owner));
        npins -= owner.npins;
        ntiles -= owner.ntiles;
        EQP_TRY(npins >= 0 && ntiles >= 0 ? EQP_OK : EQP_ERR_FORMAT);
        EQP_TRY(eqp_survey_room_for_pins(&g->survey, owner.npins, &room));
        eqp__pass(&pins, room, (size_t)owner.npins * sizeof *room);
        EQP_TRY(eqp_survey_took_pins(&g->survey, owner.npins));
        for (int64_t t = 0; t < owner.ntiles; t++) {
            eqp__pass(&tiles, &tile, sizeof tile);
            EQP_TRY(eqp_survey_add_tile(&g->survey, &tile));
        }
        if (o->head.phases.n > 0) {
            double load[EQP_CYCLE_PHASES];
            eqp__pass(&phases, load, (size_t)o->head.phases.n * sizeof *load);
            EQP_TRY(eqp_survey_add_phases(&g->survey, load));
        }
        EQP_TRY(eqp_survey_add_owner(&g->survey, &owner));
    }
done:
    return code;
}

/* Rank 0's front; with a communicator the first balancer broadcasts it. */
static int take_front(gathered *g, MPI_Comm comm, int nranks)
{
    const eqp__late_head *h = &g->head;
    int code = EQP_OK, rank = 0;

    if (comm != MPI_COMM_NULL) {
        MPI_Comm_rank(comm, &rank);
    }
    if (rank == 0) {
        g->head = g->offer[0].head; /* the first balancer holds rank 0's offer */
    }
    EQP__FAIL_IF(comm != MPI_COMM_NULL && MPI_Bcast(&g->head, (int)sizeof g->head, MPI_BYTE, 0, comm) != MPI_SUCCESS,
                 EQP_ERR_MPI);
    code = eqp_array_create(&g->front, h->front, 1);
    code = code == EQP_OK ? eqp_array_create(&g->speeds, h->nspeeds + h->nfactors + h->nbase, sizeof *g->speeds) : code;
    EQP_TRY(agreed(comm, code));
    if (rank == 0) {
        memcpy(g->front, g->offer[0].front, (size_t)h->front);
    }
    if (comm != MPI_COMM_NULL && MPI_Bcast(g->front, (int)h->front, MPI_BYTE, 0, comm) != MPI_SUCCESS) {
        EQP_TRY(EQP_ERR_MPI);
    }
    eqp__cursor c = {g->front, true};
    g->factor = g->speeds + h->nspeeds;
    g->base = g->factor + h->nfactors;
    double *const array[] = {g->base, g->speeds, g->factor};
    const int64_t n[] = {h->nbase, h->nspeeds, h->nfactors};
    for (int i = 0; i < 3; i++) {
        eqp__pass(&c, array[i], (size_t)n[i] * sizeof(double));
    }
    code = eqp__table_read(&c, &h->table, nranks, &g->table);
    EQP_TRY(agreed(comm, code));
done:
    return code;
}

static int find_locations(gathered *g, MPI_Comm comm, int nranks)
{
    location *mine = NULL, *all = NULL;
    int64_t n = 0;
    int rank = 0, code = eqp_array_create(&mine, g->n, sizeof *mine);

    if (comm != MPI_COMM_NULL) {
        MPI_Comm_rank(comm, &rank);
    }
    EQP_TRY(agreed(comm, code));
    for (int64_t i = 0, first = 0; i < g->n; i++) {
        mine[i] = (location){g->offer[i].rank, rank, first};
        first += g->offer[i].head.nnames;
    }
    if (comm != MPI_COMM_NULL) {
        EQP_TRY(eqp_gather_records(comm, sizeof *mine, g->n, mine, &n, &all));
        g->location = all;
    } else {
        n = g->n;
        g->location = mine;
        mine = NULL;
    }
    code = n == nranks ? EQP_OK : EQP_ERR_FORMAT;
    for (int64_t i = 0; i < n && code == EQP_OK; i++) { /* sorted by rank */
        code = g->location[i].rank == i ? EQP_OK : EQP_ERR_FORMAT;
    }
done:
    free(mine);
    return code;
}

static int gather(gathered *g, MPI_Comm comm, int nranks, int64_t n, const eqp_lazy_parcel *parcel)
{
    const eqp_survey_detail all = {.heavy = 0.0, .pin_below = UINT64_MAX};
    int code = eqp_array_create(&g->offer, n, sizeof *g->offer);

    g->n = n;
    for (int64_t i = 0; i < n && code == EQP_OK; i++) {
        code = eqp__late_offer_read(&parcel[i], nranks, &g->offer[i]);
    }
    EQP_TRY(agreed(comm, code));
    EQP_TRY(take_front(g, comm, nranks));
    EQP_TRY(find_locations(g, comm, nranks));
    g->model = (eqp_work_model){.nkinds = g->head.costs.fit.nkinds,
                                .nominal = g->head.nominal,
                                .once = (unsigned)g->head.once,
                                .phases = g->head.phases};
    eqp__survey_clear(&g->survey, &g->model, &all);
    code = gather_names(g);
    for (int64_t i = 0; i < n && code == EQP_OK; i++) {
        const eqp_cycle_turns *phases = &g->offer[i].head.phases;
        const bool alike = memcmp(phases, &g->head.phases, sizeof *phases) == 0;
        code = alike ? add_offer(g, &g->offer[i], nranks) : EQP_ERR_FORMAT;
    }
    EQP_TRY(agreed(comm, code));
done:
    return code;
}

/* Sets up a balancer whose problem is the offers; it borrows its members. */
static int put_up(gathered *g, const eqp_methods *own, MPI_Comm comm, int nranks, eqp_balancer *b,
                  eqp_map_options *options)
{
    const eqp__late_head *h = &g->head;
    const eqp_choice_options usual = {.strategy = h->strategy, .rate = h->rate, .threshold = h->threshold};
    const eqp_map_options run = {
        .imbalance_tol = h->imbalance_tol, .assign_tol = h->assign_tol, .seed = h->seed, .branch = h->branch};

    *b = (eqp_balancer){.comm = comm,
                        .nranks = 1,
                        .nparts = nranks,
                        .problem = {.user = g,
                                    .own = own,
                                    .apart = h->apart != 0,
                                    .estimates = true,
                                    .survey = survey_again,
                                    .base = h->nbase > 0 ? add_base : NULL},
                        .model = g->model,
                        .costs = h->costs,
                        .overheads = h->overheads,
                        .map = g->table,
                        .plan = h->plan,
                        .totals = h->totals,
                        .survey = g->survey,
                        .surveyed = true,
                        .run = {.has_map = h->has_map},
                        .memory = {.idle = 1}};
    if (comm != MPI_COMM_NULL) {
        MPI_Comm_rank(comm, &b->rank);
        MPI_Comm_size(comm, &b->nranks);
    }
    b->memory.offers = eqp__auto_offers(&b->problem, h->phases.n);
    EQP_CHECK(eqp_balancer_options_init(&b->options, sizeof b->options));
    EQP_CHECK(eqp_choice_parse(own, &usual, h->word, &b->options.method, NULL));
    b->options.plan_auto = h->plan_auto != 0;
    b->options.network = h->network;
    *options = eqp__map_options_with(&run, &b->options.method);
    options->nparts = nranks;
    options->aspect = h->aspect;
    options->speeds = (eqp_part_speeds){(int)h->nspeeds, g->speeds};
    options->factor = h->nfactors > 0 ? g->factor : NULL;
    options->base = h->nbase > 0 ? g->base : NULL;
    return EQP_OK;
}

static int answer_all(const gathered *g, const eqp_balancer *b, const eqp_new_map *found, eqp_lazy_parcel *answer)
{
    int code = EQP_OK;

    for (int64_t i = 0, first = 0; i < g->n && code == EQP_OK; i++) {
        code = eqp__late_answer_write(b, found, first, g->offer[i].head.nnames, &answer[i]);
        first += g->offer[i].head.nnames;
    }
    return code;
}

/* Places every owner with its part. EQP_ERR_DATA if an owner was not surveyed. */
static int place(const eqp_owners *owners, const int *part, int64_t nhome, eqp_placement *placement)
{
    for (int64_t i = 0; i < nhome; i++) {
        placement[i].home = -1;
    }
    for (int64_t o = 0; o < owners->n; o++) {
        const int64_t at = owners->owner[o].at_home;
        EQP__FAIL_IF(at < 0 || at >= nhome || placement[at].home >= 0, EQP_ERR_DATA);
        placement[at] = (eqp_placement){part[o], part[o]};
    }
    return owners->n == nhome ? EQP_OK : EQP_ERR_DATA;
}

/* eqp__make_new() without MPI, for methods with `assign_alone` and whole owners. */
static int make_alone(const eqp_balancer *b, const eqp_map_options *options, int64_t nhome, eqp_new_map *found)
{
    const eqp_work_model model = eqp__work_model_measured(&b->model, &b->costs);
    eqp_owners owners = {.n = 0};
    int *part = NULL;
    int code;

    EQP_TRY(eqp__owners_line_up_alone(&b->survey, &model, &b->costs, &owners));
    EQP_TRY(eqp_array_create(&part, owners.n, sizeof *part));
    EQP_TRY(eqp__assign_alone(options, b->nparts, &owners, b->run.has_map ? b->map : NULL, part, &found->made));
    EQP_TRY(eqp_array_create(&found->placement, nhome, sizeof *found->placement));
    EQP_TRY(place(&owners, part, nhome, found->placement));
    EQP_TRY(eqp_map_create(0, NULL, NULL, NULL, &found->map));
done:
    free(part);
    eqp__owners_free(&owners);
    return code;
}

int eqp__late_make(void *user, MPI_Comm balancers, int nranks, int64_t n, const eqp_lazy_parcel *offer,
                   eqp_lazy_parcel *answer)
{
    const bool alone = balancers == MPI_COMM_NULL;
    eqp_message message = {""};
    gathered g = {.n = 0};
    eqp_new_map found = {.map = NULL};
    eqp_balancer b;
    eqp_map_options options;
    int64_t bytes = 0;
    int code;

    EQP_TRY(gather(&g, balancers, nranks, n, offer));
    const eqp_lives lives = {.usual = g.head.life, .most = g.head.life};
    EQP_TRY(put_up(&g, user, balancers, nranks, &b, &options));
    EQP_TRY(alone ? make_alone(&b, &options, g.names.n, &found)
                  : eqp__make_new(&b, &g.names, &options, &lives, &found, &bytes, &message));
    code = answer_all(&g, &b, &found, answer);
    EQP_TRY(agreed(balancers, code));
done:
    eqp__new_map_free(&found);
    gathered_free(&g);
    return code;
}

int eqp_balancer_serve(eqp_lazy *lazy, const eqp_methods *own)
{
    return eqp_lazy_serve(lazy, eqp__late_make, (void *)(uintptr_t)own);
}
