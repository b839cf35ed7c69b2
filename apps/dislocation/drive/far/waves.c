/* SPDX-License-Identifier: BSD-3-Clause */
#include "../stage/window.h"

#include "../../../shell/run_files.h"
#include "../../../shell/signals.h"

/* Fewest cells of a part; with fewer, messages cost more than work. */
#define LEAST_CELLS 32
/* Fewest components transformed together. */
#define LEAST_COMPONENTS 16
/* Shares of the stages in the work, in sixths. */
static const int sixths[DD_FAR_STAGES] = {1, 4, 1};

static dd_far_slice slice(int64_t n, int64_t which, int64_t nslices)
{
    dd_far_slice of = {0, 0};

    if (which < nslices) {
        app_slice(n, (int)which, (int)nslices, &of.first, &of.n);
    }
    return of;
}

static int64_t nitems(const dd_far_parts *parts)
{
    return parts->sizes.nplanes * parts->nchunks;
}

void dd_far_parts_init(dd_far_parts *parts, const dd_grid *grid, int nparts)
{
    *parts = (dd_far_parts){.nparts = 0};
    if (grid->ncells > 0 && dd_grid_has_far(grid)) {
        const int64_t enough = grid->ncells < LEAST_CELLS ? 1 : grid->ncells / LEAST_CELLS;
        dd_far_count(grid->n, grid->periodic, grid->far_order, &parts->sizes);
        const int64_t most = parts->sizes.nmoments / LEAST_COMPONENTS;
        parts->nparts = enough < nparts ? (int)enough : nparts;
        const int64_t chunks = (parts->nparts + parts->sizes.nplanes - 1) / parts->sizes.nplanes;
        parts->nchunks = (int)(chunks < most ? chunks : most);
    }
}

dd_far_slice dd_far_parts_items(const dd_far_parts *parts, int part)
{
    return slice(nitems(parts), part, parts->nparts);
}

dd_far_slice dd_far_parts_columns(const dd_far_parts *parts, int part)
{
    return slice(parts->sizes.ncolumns, part, parts->nparts);
}

int dd_far_parts_owner(const dd_far_parts *parts, int64_t item)
{
    const int64_t n = nitems(parts), each = n / parts->nparts, more = n % parts->nparts, longer = more * (each + 1);

    return (int)(item < longer ? item / (each + 1) : more + (item - longer) / each);
}

dd_far_slice dd_far_parts_chunk(const dd_far_parts *parts, int64_t ncomponents, int64_t chunk)
{
    return slice(ncomponents, chunk, parts->nchunks);
}

int64_t dd_far_parts_work(const dd_far_parts *parts, int part, int stage)
{
    const int64_t cells = parts->sizes.nplanes * parts->sizes.ncells * sixths[stage];
    const dd_far_slice of =
        stage == DD_FAR_COLUMNS ? dd_far_parts_columns(parts, part) : dd_far_parts_items(parts, part);
    const int64_t all = 6 * (stage == DD_FAR_COLUMNS ? parts->sizes.ncolumns : nitems(parts));

    /* Rounded so that the sum over parts does not depend on their number. */
    return of.n == 0 ? 0 : cells * (of.first + of.n) / all - cells * of.first / all;
}

#define BYTES (int64_t)sizeof(double)

static int64_t ncomponents(const dd_waves *w, bool local)
{
    return local ? w->parts.sizes.nlocal : w->parts.sizes.nmoments;
}

static dd_far_slice chunk_of(const dd_waves *w, bool local, int64_t item)
{
    return dd_far_parts_chunk(&w->parts, ncomponents(w, local), item % w->parts.nchunks);
}

/* Components of the items before this one, from the first one in the memory of this rank. */
static int64_t before(const dd_waves *w, bool local, int64_t item)
{
    int64_t n = 0;

    for (int64_t i = w->node != NULL ? 0 : w->items.first; i < item; i++) {
        n += chunk_of(w, local, i).n;
    }
    return n;
}

double *dd_waves_item(const dd_waves *waves, bool local, int64_t item)
{
    return (local ? waves->local : waves->moments) + before(waves, local, item) * waves->parts.sizes.ncells;
}

static int create_numbers(dd_waves *w)
{
    const dd_far_sizes *s = &w->parts.sizes;
    const int64_t end = w->items.first + w->items.n, in = before(w, false, end), out = before(w, true, end);

    EQP_CHECK(eqp_array_create(&w->kernel, w->columns.n * s->nkernel, sizeof *w->kernel));
    if (w->node == NULL) {
        EQP_CHECK(eqp_array_create(&w->moments, in * s->ncells, sizeof *w->moments));
        EQP_CHECK(eqp_array_create(&w->local, out * s->ncells, sizeof *w->local));
        EQP_CHECK(eqp_array_create(&w->planes_out, in * s->ncolumns * 2, sizeof *w->planes_out));
        EQP_CHECK(eqp_array_create(&w->columns_out, s->nplanes * s->nlocal * w->columns.n * 2, sizeof *w->columns_out));
    }
    EQP_CHECK(eqp_array_create(&w->plane, (s->nlocal / w->parts.nchunks + 1) * s->ncolumns * 2, sizeof *w->plane));
    EQP_CHECK(eqp_array_create(&w->scratch, s->nraw > s->nfield ? s->nraw : s->nfield, sizeof *w->scratch));
    EQP_CHECK(eqp_array_create(&w->at, 2 * nitems(&w->parts), sizeof *w->at));
    EQP_CHECK(eqp_array_create(&w->run, 2 * (int64_t)w->parts.nchunks, sizeof *w->run));
    for (int64_t c = 0; c < w->columns.n; c++) {
        EQP_CHECK(dd_far_kernel(w->far, w->columns.first + c, w->kernel + c * s->nkernel));
    }
    return EQP_OK;
}

/* Sets the places of columns; those of moments change at every exchange. */
static void set_runs(dd_waves *w)
{
    double *next = w->columns_out;

    for (int local = 0; local < 2; local++) {
        for (int64_t c = 0; c < w->parts.nchunks; c++) {
            const int64_t place = local * w->parts.nchunks + c;
            const dd_far_slice chunk = dd_far_parts_chunk(&w->parts, ncomponents(w, local), c);
            w->run[place] = (dd_far_run){chunk.first, chunk.n, w->at + place * w->parts.sizes.nplanes};
        }
    }
    for (int64_t i = 0; i < nitems(&w->parts); i++) {
        const int64_t place = w->parts.nchunks + i % w->parts.nchunks;
        w->at[place * w->parts.sizes.nplanes + i / w->parts.nchunks] = next;
        next += chunk_of(w, true, i).n * w->columns.n * 2;
    }
}

/* Out: a block for each own item and each part with columns; back: one for each item. */
static int plan(const dd_domain *domain, int code, dd_waves *w)
{
    dd_blocks out = {.code = code}, back = {.code = code};

    for (int64_t i = w->items.first; i < w->items.first + w->items.n; i++) {
        for (int p = 0; p < w->parts.nparts && dd_far_parts_columns(&w->parts, p).n > 0; p++) {
            dd_blocks_add(&out, i, dd_far_parts_columns(&w->parts, p).n * 2 * chunk_of(w, false, i).n * BYTES);
            dd_blocks_need(&out, p);
        }
    }
    for (int64_t i = 0; i < nitems(&w->parts) && w->columns.n > 0; i++) {
        dd_blocks_add(&back, i, w->columns.n * 2 * chunk_of(w, true, i).n * BYTES);
        dd_blocks_need(&back, dd_far_parts_owner(&w->parts, i));
    }
    if (w->parts.nparts == 1 || w->node != NULL) { /* on all ranks: nothing travels */
        code = eqp_agree(domain->comm, out.code, NULL);
    } else {
        EQP_TRY(dd_blocks_route(domain->comm, &domain->plan, &out, &w->to_columns));
        EQP_TRY(dd_blocks_route(domain->comm, &domain->plan, &back, &w->to_planes));
    }
done:
    dd_blocks_free(&out);
    dd_blocks_free(&back);
    return code;
}

static int create(const dd_domain *domain, const dd_medium *medium, const dd_grid *grid, dd_waves *w)
{
    memcpy(w->n, grid->n, sizeof w->n);
    w->rank = domain->rank;
    w->items = dd_far_parts_items(&w->parts, domain->rank);
    w->columns = dd_far_parts_columns(&w->parts, domain->rank);
    EQP_CHECK(dd_far_create(medium, grid->low, domain->edge, grid->n, grid->far_order, &w->far));
    EQP_CHECK(create_numbers(w));
    if (w->node == NULL) {
        set_runs(w);
    }
    return EQP_OK;
}

/* Numbers of moments, local expansions, columns out and columns back of all items. */
static void count_shared(const dd_far_parts *parts, int64_t n[4])
{
    const dd_far_sizes *s = &parts->sizes;

    n[0] = s->nplanes * s->nmoments * s->ncells;
    n[1] = s->nplanes * s->nlocal * s->ncells;
    n[2] = s->nplanes * s->nmoments * s->ncolumns * 2;
    n[3] = s->nplanes * s->nlocal * s->ncolumns * 2;
}

int64_t dd_waves_shared(const dd_far_parts *parts)
{
    int64_t n[4];

    count_shared(parts, n);
    return parts->nparts == 0 ? 0 : n[0] + n[1] + n[2] + n[3];
}

/* Columns back of the part that begins with this column, in shared memory. */
static double *columns_from(const dd_waves *w, int64_t column)
{
    int64_t n[4];

    count_shared(&w->parts, n);
    return w->planes_out + n[2] + w->parts.sizes.nplanes * w->parts.sizes.nlocal * column * 2;
}

void dd_waves_share(dd_waves *waves, double *memory)
{
    int64_t n[4];

    if (waves->node != NULL && waves->moments != memory) {
        count_shared(&waves->parts, n);
        waves->moments = memory;
        waves->local = memory + n[0];
        waves->planes_out = waves->local + n[1];
        waves->columns_out = columns_from(waves, waves->columns.first);
        set_runs(waves);
    }
}

int dd_waves_create(const dd_domain *domain, const dd_medium *medium, const dd_grid *grid, dd_waves **waves)
{
    dd_waves none = {.far = NULL}, *w = NULL;
    int code = eqp_array_create(&w, 1, sizeof *w);

    dd_far_parts_init(&none.parts, grid, domain->nranks);
    if (code == EQP_OK) {
        w->parts = none.parts;
        w->node = none.node = dd_window_of(domain) != NULL ? domain->window->node : NULL;
        code = create(domain, medium, grid, w);
    }
    code = plan(domain, code, w != NULL ? w : &none);
    if (code != EQP_OK) {
        dd_waves_free(w);
        return code;
    }
    *waves = w;
    return EQP_OK;
}

void dd_waves_free(dd_waves *waves)
{
    if (waves != NULL) {
        void *numbers[] = {waves->moments, waves->local, waves->planes_out, waves->columns_out};
        void *owned[] = {waves->kernel, waves->plane, waves->scratch, waves->at, waves->run, waves};
        eqp_route_free(waves->to_columns);
        eqp_route_free(waves->to_planes);
        dd_far_free(waves->far);
        for (size_t i = 0; i < 4 && waves->node == NULL; i++) {
            free(numbers[i]);
        }
        for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
            free(owned[i]);
        }
    }
}

static double *own_columns(const dd_waves *w, int64_t item)
{
    return w->planes_out + before(w, false, item) * w->parts.sizes.ncolumns * 2;
}

static int forward(dd_waves *w)
{
    for (int64_t i = w->items.first; i < w->items.first + w->items.n; i++) {
        EQP_CHECK(dd_far_plane_forward(w->far, chunk_of(w, false, i).n, dd_waves_item(w, false, i), own_columns(w, i)));
        EQP_CHECK(app_signals_stop());
    }
    return EQP_OK;
}

static int columns(dd_waves *w)
{
    for (int64_t c = 0; c < w->columns.n; c++) {
        EQP_CHECK(dd_far_column(w->far, w->columns.first + c, c, w->kernel + c * w->parts.sizes.nkernel,
                                w->parts.nchunks, w->run, w->parts.nchunks, w->run + w->parts.nchunks));
        EQP_CHECK(app_signals_stop());
    }
    return EQP_OK;
}

/* Joins the columns of an item, own and received ones. next: [parts] the next block of a part. */
static void join(const dd_waves *w, int64_t item, const char *received, const int64_t *offset, int64_t *next)
{
    const int64_t n = 2 * chunk_of(w, true, item).n;
    double *to = w->plane;

    for (int p = 0; p < w->parts.nparts && dd_far_parts_columns(&w->parts, p).n > 0; p++) {
        const dd_far_slice of = dd_far_parts_columns(&w->parts, p);
        const int64_t place = w->parts.nchunks + item % w->parts.nchunks;
        const void *from = w->at[place * w->parts.sizes.nplanes + item / w->parts.nchunks];
        if (w->node != NULL) {
            from = columns_from(w, of.first) + before(w, true, item) * of.n * 2;
        } else if (p != w->rank) { /* blocks arrive by home, then by item */
            from = received + offset[next[p]++];
        }
        memcpy(to, from, (size_t)(of.n * n * BYTES));
        to += of.n * n;
    }
}

static int back(dd_waves *w)
{
    const eqp_route_view view = eqp_route_arrivals(w->to_planes);
    DD_FREED int64_t *next = NULL;

    EQP_CHECK(eqp_array_create(&next, w->parts.nparts, sizeof *next));
    for (int p = 0, others = 0; p < w->parts.nparts; p++) {
        next[p] = others * w->items.n;
        others += p != w->rank;
    }
    for (int64_t i = w->items.first; i < w->items.first + w->items.n; i++) {
        join(w, i, w->received, view.offset, next);
        EQP_CHECK(dd_far_plane_inverse(w->far, chunk_of(w, true, i).n, w->plane, dd_waves_item(w, true, i)));
        EQP_CHECK(app_signals_stop());
    }
    return EQP_OK;
}

int dd_waves_compute(dd_waves *waves, int stage)
{
    return stage == DD_FAR_FORWARD ? forward(waves) : (stage == DD_FAR_COLUMNS ? columns(waves) : back(waves));
}

static void place_columns(dd_waves *w, char *received)
{
    const eqp_route_view view = w->to_columns == NULL ? (eqp_route_view){.n = 0} : eqp_route_arrivals(w->to_columns);
    int64_t b = 0;

    for (int64_t i = 0; i < nitems(&w->parts) && w->columns.n > 0; i++) {
        const bool own = w->node != NULL || (i >= w->items.first && i < w->items.first + w->items.n);
        double *at = own ? own_columns(w, i) + w->columns.first * 2 * chunk_of(w, false, i).n
                         : (double *)(void *)(received + view.offset[b++]);
        w->at[i % w->parts.nchunks * w->parts.sizes.nplanes + i / w->parts.nchunks] = at;
    }
}

int dd_waves_exchange(dd_waves *waves, int stage)
{
    const bool to_columns = stage == DD_FAR_FORWARD;
    eqp_route *route = to_columns ? waves->to_columns : waves->to_planes;
    const void *received = NULL;

    if (waves->node != NULL) {
        EQP_CHECK(eqp_node_meet(waves->node, EQP_OK));
    } else if (route != NULL) {
        EQP_CHECK(dd_route_send(route, EQP_OK, to_columns ? waves->planes_out : waves->columns_out, &received));
    }
    if (to_columns) {
        place_columns(waves, (char *)(uintptr_t)received);
    } else {
        waves->received = received;
    }
    return EQP_OK;
}
