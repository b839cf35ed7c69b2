/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/run.h"

#include "map/phased.h"

enum { HELD, GHOST, BYTE, PART, KINDS };

/* Nominal costs for problems without any: those of barneshut; only their ratios matter. */
static const double expected[KINDS] = {2e-7, 1e-7, 1e-9, 5e-4};

/* Weight of a sample after one more step, and weight of the nominal ratios, as for costs of work. */
#define FADING 0.9
#define LEAN 0.01

/* Weight of the assumption of no scatter, in steps, and the largest scatter a single step may count for. */
#define CALM_STEPS 0.5
#define MOST_SCATTER 0.5

/* Counts are exact in a double below this. */
#define MOST 0x1p53

int eqp__overheads_init(eqp_overheads *o, const eqp_overhead *nominal)
{
    eqp_overheads made = {.nominal = nominal != NULL ? *nominal : (eqp_overhead){.held = 0.0}};
    const double given[KINDS] = {made.nominal.held, made.nominal.ghost, made.nominal.byte, made.nominal.part};
    bool can_be = made.nominal.calls >= 0 && made.nominal.gathers >= 0 && made.nominal.gathered >= 0 &&
                  made.nominal.handshakes >= 0,
         all = true;

    for (int k = 0; k < KINDS; k++) {
        can_be = can_be && given[k] >= 0 && isfinite(given[k]);
        all = all && given[k] > 0;
    }
    EQP__CHECK(can_be ? EQP_OK : EQP_ERR_ARGUMENT);
    EQP__CHECK(eqp__costs_init(&made.costs, KINDS, all ? given : expected));
    *o = made;
    return EQP_OK;
}

eqp_overhead eqp__overheads_now(const eqp_overheads *o)
{
    eqp_overhead now = o->nominal;

    if (o->costs.known) {
        const double *cost = o->costs.fit.cost;
        now.held = cost[HELD];
        now.ghost = cost[GHOST];
        now.byte = cost[BYTE];
        now.part = cost[PART];
    }
    return now;
}

static int64_t count_of(double x)
{
    return x >= MOST ? (int64_t)MOST : x > 0 ? (int64_t)x : 0; /* rows come from the caller and may hold any double */
}

/* Particles and ghosts are counted once per evaluation; a row's bytes are those of all evaluations. */
static void count(const eqp_rank_row *row, int64_t evaluations, int64_t n[KINDS])
{
    n[HELD] = count_of(row->particles * (double)evaluations);
    n[GHOST] = count_of(row->ghosts * (double)evaluations);
    n[BYTE] = count_of(row->bytes_sent);
    n[PART] = evaluations;
}

double eqp__overheads_predict(const eqp_overheads *o, const eqp_rank_row *row, int64_t evaluations)
{
    const eqp_overhead now = eqp__overheads_now(o);
    int64_t n[KINDS];

    count(row, evaluations, n);
    return now.held * (double)n[HELD] + now.ghost * (double)n[GHOST] + now.byte * (double)n[BYTE] +
           now.part * (double)n[PART];
}

int eqp__overheads_learn(eqp_overheads *o, int nranks, const eqp_rank_row *rows, int64_t evaluations)
{
    eqp_cost_fit fit;
    int64_t n[KINDS];
    int code = EQP_OK;

    if (o->costs.fixed) {
        return EQP_OK;
    }
    for (int i = 0; i < EQP_COST_SUMS; i++) {
        o->costs.samples.sum[i] *= FADING;
    }
    for (int r = 0; r < nranks && code == EQP_OK; r++) {
        const double overhead = rows[r].busy_seconds - rows[r].load;
        if (rows[r].busy_seconds > 0 && overhead > 0) {
            count(&rows[r], evaluations, n);
            code = eqp__cost_sums_add(&o->costs.samples, n, overhead);
        }
    }
    code = code == EQP_OK ? eqp__cost_fit_near(&o->costs.samples, o->costs.nominal, LEAN, &fit) : code;
    if (code != EQP_OK) {
        return code == EQP_ERR_STATE ? EQP_OK : code; /* no sample yet */
    }
    if (fit.samples >= KINDS) {
        for (int k = 0; k < KINDS; k++) {
            fit.cost[k] = fit.seen[k] ? fit.cost[k] : fit.factor * o->costs.nominal[k];
        }
        o->costs.fit = fit;
        o->costs.known = true;
    }
    return EQP_OK;
}

double eqp__overheads_factor(const eqp_overheads *o)
{
    return exp(o->scatter / (o->steps + CALM_STEPS));
}

void eqp__overheads_scatter(eqp_overheads *o, double measured, double foretold)
{
    const double ratio = measured > 0 && foretold > 0 ? log(measured / foretold) : NAN;

    if (isfinite(ratio)) {
        o->scatter = FADING * o->scatter + fmin(fmax(ratio, -MOST_SCATTER), MOST_SCATTER);
        o->steps = FADING * o->steps + 1;
    }
}

void eqp__pass(eqp__cursor *c, void *data, size_t size)
{
    if (size > 0) {
        memcpy(c->reads ? data : (void *)c->at, c->reads ? (const void *)c->at : data, size);
    }
    c->at += size;
}

eqp__table_size eqp__table_of(const eqp_map *map)
{
    const double *centroid;
    const int *rank;
    int nphases;
    eqp__table_size size = {.nphased = eqp_map_phased(map, &nphases, NULL)};

    size.nshared = eqp_map_shared(map) - size.nphased;
    size.nphases = nphases;
    for (int64_t s = 0; s < size.nshared; s++) {
        size.nunits += eqp_map_units(map, -1 - s, &centroid, &rank);
    }
    return size;
}

size_t eqp__table_bytes(const eqp__table_size *size)
{
    return (size_t)size->nshared * sizeof(int64_t) + (size_t)size->nunits * (3 * sizeof(double) + sizeof(int)) +
           (size_t)(size->nphased * size->nphases) * sizeof(int);
}

bool eqp__can_be_table(const eqp__table_size *size, size_t bytes)
{
    const int64_t most = (int64_t)(bytes / sizeof(int));

    return size->nshared >= 0 && size->nunits >= size->nshared && size->nunits <= most && size->nphased >= 0 &&
           size->nphased <= most && size->nphases >= 0 && size->nphases <= EQP_CYCLE_PHASES &&
           (size->nphased > 0) == (size->nphases > 0);
}

void eqp__table_write(eqp__cursor *c, const eqp_map *map)
{
    const double *centroid;
    const int *rank;
    int nphases;
    const int64_t nphased = eqp_map_phased(map, &nphases, NULL), nshared = eqp_map_shared(map) - nphased;

    for (int64_t s = 0; s < nshared; s++) {
        int64_t n = eqp_map_units(map, -1 - s, &centroid, &rank);
        eqp__pass(c, &n, sizeof n);
    }
    for (int64_t s = 0; s < nshared; s++) {
        const int64_t n = eqp_map_units(map, -1 - s, &centroid, &rank);
        for (int64_t u = 0; u < n; u++) {
            double place[3] = {centroid[3 * u], centroid[3 * u + 1], centroid[3 * u + 2]};
            int of = rank[u];
            eqp__pass(c, place, sizeof place);
            eqp__pass(c, &of, sizeof of);
        }
    }
    (void)eqp_map_phased(map, NULL, &rank);
    eqp__pass(c, (void *)(uintptr_t)rank, (size_t)(nphased * nphases) * sizeof *rank);
}

int eqp__table_read(eqp__cursor *c, const eqp__table_size *size, int nranks, eqp_map **map)
{
    const int64_t nphased = size->nphased * size->nphases;
    int64_t *nunits = NULL, all = 0;
    double *centroid = NULL;
    int *rank = NULL, *phased = NULL;
    eqp_map *made = NULL;
    int code;

    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(phased, nphased), EQP__ARRAY(nunits, size->nshared),
                        EQP__ARRAY(centroid, 3 * size->nunits), EQP__ARRAY(rank, size->nunits)));
    eqp__pass(c, nunits, (size_t)size->nshared * sizeof *nunits);
    for (int64_t s = 0; s < size->nshared && all >= 0; s++) {
        all = nunits[s] >= 1 && nunits[s] <= size->nunits - all ? all + nunits[s] : -1;
    }
    for (int64_t u = 0; u < size->nunits; u++) {
        eqp__pass(c, centroid + 3 * u, 3 * sizeof *centroid);
        eqp__pass(c, rank + u, sizeof *rank);
        all = rank[u] >= 0 && rank[u] < nranks ? all : -1;
    }
    eqp__pass(c, phased, (size_t)nphased * sizeof *phased);
    for (int64_t i = 0; i < nphased; i++) {
        all = phased[i] >= 0 && phased[i] < nranks ? all : -1;
    }
    EQP_TRY(all == size->nunits ? EQP_OK : EQP_ERR_FORMAT);
    EQP_TRY(eqp_map_create(size->nshared, nunits, centroid, rank, &made));
    EQP_TRY(nphased > 0 ? eqp__map_add_phased(made, size->nphased, (int)size->nphases, phased) : EQP_OK);
    *map = made;
    made = NULL;
done:
    eqp_map_free(made);
    EQP__FREE(phased, rank, centroid, nunits);
    return code == EQP_ERR_ARGUMENT ? EQP_ERR_FORMAT : code;
}
