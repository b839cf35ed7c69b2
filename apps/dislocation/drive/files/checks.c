/* SPDX-License-Identifier: BSD-3-Clause */
#include "../simulation.h"

#include "../../physics/elastic/check_table.h"
#include "../../physics/elastic/pairs.h"

#include <math.h>
#include <stdio.h>

#define LINE_ROOM 128

static int write_rows(const dd_check *check, char **text)
{
    const size_t room = ((size_t)check->ncategories + 2) * LINE_ROOM;
    size_t at = 0;

    EQP_CHECK(eqp_array_create(text, (int64_t)room, 1));
    at += (size_t)snprintf(*text, room, "category\trows\tworst\n");
    for (int64_t c = 0; c < check->ncategories; c++) {
        const dd_check_row *row = &check->category[c];
        at += (size_t)snprintf(*text + at, room - at, "%s\t%lld\t%.3e\n", row->category, (long long)row->rows,
                               row->worst);
    }
    return EQP_OK;
}

int dd_check_forces(const dd_settings *settings, char **text, eqp_message *message)
{
    const char *path = settings->check_forces;
    dd_check check = {0};
    eqp_message inner = {""};
    FILE *from = NULL;
    int code = eqp_input_open(path, &from, &inner);

    if (code != EQP_OK) {
        eqp_message_set(message, "dislocation: --check-forces: %s", inner.text);
        return code;
    }
    code = dd_check_table(from, (dd_isa)settings->isa, &check, &inner);
    (void)fclose(from);
    if (code == EQP_ERR_STATE) {
        eqp_message_set(message, "dislocation: --isa: %s does not run on this processor",
                        dd_isa_name((dd_isa)settings->isa));
        return EQP_ERR_ARGUMENT;
    }
    if (code != EQP_OK) {
        eqp_message_set(message, "dislocation: --check-forces: %s: %s", path,
                        inner.text[0] != '\0' ? inner.text : eqp_error_text(code));
        return code;
    }
    code = write_rows(&check, text);
    dd_check_free(&check);
    return code;
}

/* Most sampled segments. */
#define SAMPLES 96
/* Components of a stress that is linear in position. */
#define SHAPES 24
#define TEXT_ROOM 256

/* A segment, at the image whose middle is nearest to the middle of its cell, and the far forces on its ends. */
typedef struct known {
    int64_t cell; /* sorted by it, then by key */
    dd_segment_key key;
    dd_segment at;
    double far[6];
} known;

typedef struct checked {
    const dd_simulation *sim;
    dd_medium medium; /* without a box: images are explicit */
    int64_t n;
    const known *all; /* [n] by cell */
    dd_columns columns;
    int64_t nsamples;
    double *direct; /* [nsamples][6] */
} checked;

static void cell_at(const dd_grid *grid, int64_t cell, int64_t at[3])
{
    at[0] = cell / grid->n[2] / grid->n[1];
    at[1] = cell / grid->n[2] % grid->n[1];
    at[2] = cell % grid->n[2];
}

static dd_segment fold(const dd_domain *domain, const dd_grid *grid, int64_t cell, const dd_segment *segment)
{
    dd_segment s = *segment;
    double along[3], middle[3], centre[3], offset[3];
    int64_t at[3];

    cell_at(grid, cell, at);
    dd_domain_offset(domain, s.x2, s.x1, along); /* from the first to the second */
    for (int d = 0; d < 3; d++) {
        middle[d] = s.x1[d] + 0.5 * along[d];
        centre[d] = grid->low[d] + ((double)at[d] + 0.5) * grid->width[d];
    }
    dd_domain_offset(domain, middle, centre, offset);
    for (int d = 0; d < 3; d++) {
        s.x1[d] = centre[d] + offset[d] - 0.5 * along[d];
        s.x2[d] = centre[d] + offset[d] + 0.5 * along[d];
    }
    return s;
}

static int list_own(const dd_simulation *sim, known **mine)
{
    const dd_stage *stage = &sim->stage;
    const dd_waves *waves = sim->evaluator.waves;

    EQP_CHECK(eqp_array_create(mine, stage->nown, sizeof **mine));
    for (int64_t i = 0, last = -1, live = -1, s = 0; i < stage->n; i++) {
        if (stage->source[i] >= 0) {
            const int64_t cell = dd_stage_cell(stage, i);
            const dd_segment segment = dd_stage_segment(stage, i);
            if (cell != last) {
                dd_far_open(waves->far, stage->field.local + ++live * waves->parts.sizes.nlocal, waves->scratch);
            }
            last = cell;
            (*mine)[s] =
                (known){.cell = cell, .key = stage->key[i], .at = fold(&sim->domain, &stage->grid, cell, &segment)};
            dd_far_force(waves->far, cell, waves->scratch, &segment, (*mine)[s++].far);
        }
    }
    return EQP_OK;
}

static int gather(const dd_simulation *sim, int64_t *n, known **all)
{
    DD_FREED known *mine = NULL;

    EQP_CHECK(eqp_agree(sim->comm, list_own(sim, &mine), NULL));
    EQP_CHECK(eqp_gather_records(sim->comm, sizeof *mine, sim->stage.nown, mine, n, all));
    dd_sort(*all, *n, sizeof **all, dd_by_3_words);
    return EQP_OK;
}

static int set_columns(checked *c, double **memory)
{
    EQP_CHECK(dd_columns_create(c->n, memory, &c->columns));
    for (int64_t i = 0; i < c->n; i++) {
        for (int d = 0; d < 3; d++) {
            c->columns.at[d][i] = c->all[i].at.x1[d];
            c->columns.at[3 + d][i] = c->all[i].at.x2[d];
            c->columns.at[6 + d][i] = c->all[i].at.burgers[d];
        }
    }
    return eqp_array_create(&c->direct, 6 * c->nsamples, sizeof *c->direct);
}

static bool is_near(const dd_grid *grid, int64_t cell, int64_t other, const int64_t image[3])
{
    int64_t a[3], b[3];
    bool near = true;

    cell_at(grid, cell, a);
    cell_at(grid, other, b);
    for (int d = 0; d < 3; d++) {
        near = near && llabs(b[d] + image[d] * grid->n[d] - a[d]) <= 1;
    }
    return near;
}

/* Adds the forces of one image of the box on a segment. */
static void add_image(const checked *c, const known *target, const int64_t image[3], double force[6])
{
    const dd_domain *domain = &c->sim->domain;
    const bool next = llabs(image[0]) <= 1 && llabs(image[1]) <= 1 && llabs(image[2]) <= 1;
    dd_segment moved = target->at; /* instead of all sources the other way */
    dd_pair_counts counts = {0, 0};

    for (int d = 0; d < 3; d++) {
        moved.x1[d] -= (double)image[d] * domain->edge[d];
        moved.x2[d] -= (double)image[d] * domain->edge[d];
    }
    for (int64_t first = 0, end; first < c->n; first = end) {
        for (end = first + 1; end < c->n && (!next || c->all[end].cell == c->all[first].cell);) {
            end++;
        }
        if (!next || !is_near(&c->sim->stage.grid, target->cell, c->all[first].cell, image)) {
            const dd_run run = {first, end - first};
            c->sim->evaluator.pairs(&c->medium, &moved, &c->columns, 1, &run, force, &counts);
        }
    }
}

static const known *sample(const checked *c, int64_t i)
{
    return &c->all[i * c->n / c->nsamples];
}

static int add_all(checked *c, int shells)
{
    const double *box = c->sim->domain.box;
    const int64_t x = box[0] > 0 ? shells : 0, y = box[1] > 0 ? shells : 0, z = box[2] > 0 ? shells : 0;
    int64_t image[3];

    for (int64_t i = c->sim->domain.rank; i < c->nsamples; i += c->sim->domain.nranks) {
        for (image[0] = -x; image[0] <= x; image[0]++) {
            for (image[1] = -y; image[1] <= y; image[1]++) {
                for (image[2] = -z; image[2] <= z; image[2]++) {
                    add_image(c, sample(c, i), image, c->direct + 6 * i);
                }
            }
        }
    }
    return eqp_sum_double(c->sim->comm, 6 * c->nsamples, c->direct);
}

/* Forces on a segment by one component of a stress that is uniform, or linear along an axis from the middle of the
 * box. */
static void shape_force(const dd_domain *domain, const dd_segment *s, int shape, double force[6])
{
    double stress[6] = {0.0}, both[6], of[2];

    stress[shape % 6] = 1.0;
    dd_peach_koehler(stress, s, both);
    for (int end = 0; end < 2; end++) {
        const double *x = end == 0 ? s->x1 : s->x2;
        const int d = shape / 6 - 1;
        of[end] = d < 0 ? 1.0 : (x[d] - domain->low[d]) / domain->edge[d] - 0.5;
    }
    for (int d = 0; d < 3; d++) { /* dd_peach_koehler() has half of the whole on either end */
        force[d] = 2.0 * both[d] * (of[0] / 3.0 + of[1] / 6.0);
        force[3 + d] = 2.0 * both[d] * (of[0] / 6.0 + of[1] / 3.0);
    }
}

static double dot(int64_t n, const double *a, const double *b)
{
    double sum = 0.0;

    for (int64_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static void subtract(int64_t n, double factor, const double *a, double *from)
{
    for (int64_t i = 0; i < n; i++) {
        from[i] -= factor * a[i];
    }
}

/* Subtracts the best fit of a linear stress from the errors [6 samples], by Gram-Schmidt applied twice. */
static int take_shapes(const checked *c, double *error)
{
    const int64_t n = 6 * c->nsamples;
    double *shape = NULL;
    int code = eqp_array_create(&shape, SHAPES * n, sizeof *shape);

    for (int s = 0; s < SHAPES && code == EQP_OK; s++) {
        double *mine = shape + s * n;
        for (int64_t i = 0; i < c->nsamples; i++) {
            shape_force(&c->sim->domain, &sample(c, i)->at, s, mine + 6 * i);
        }
        const double before = sqrt(dot(n, mine, mine));
        for (int pass = 0; pass < 2; pass++) {
            for (int other = 0; other < s; other++) {
                subtract(n, dot(n, mine, shape + other * n), shape + other * n, mine);
            }
        }
        const double size = sqrt(dot(n, mine, mine));
        for (int64_t i = 0; i < n; i++) {
            mine[i] = size > 1e-9 * before ? mine[i] / size : 0.0;
        }
        subtract(n, dot(n, error, mine), mine, error);
    }
    free(shape);
    return code;
}

static int write_text(const checked *c, int shells, char **text)
{
    const int64_t n = 6 * c->nsamples;
    DD_FREED double *error = NULL;
    double square = 0.0;

    EQP_CHECK(eqp_array_create(&error, n, sizeof *error));
    EQP_CHECK(eqp_array_create(text, TEXT_ROOM, 1));
    for (int64_t i = 0; i < n; i++) {
        const double far = sample(c, i / 6)->far[i % 6];
        error[i] = far - c->direct[i];
        square += far * far;
    }
    const double far = sqrt(square), all = sqrt(dot(n, error, error));
    EQP_CHECK(take_shapes(c, error));
    snprintf(*text, TEXT_ROOM,
             "shells\tsegments\tfar_order\terror\terror_without_linear_stress\n%d\t%lld\t%d\t%.3e\t%.3e\n", shells,
             (long long)c->nsamples, c->sim->domain.far_order, all / far, sqrt(dot(n, error, error)) / far);
    return EQP_OK;
}

int dd_check_images(const dd_simulation *sim, int shells, char **text)
{
    DD_FREED known *all = NULL;
    DD_FREED double *memory = NULL;
    checked c = {.sim = sim, .medium = sim->evaluator.medium};
    int code;

    EQP_CHECK(sim->evaluator.waves == NULL ? EQP_ERR_STATE : gather(sim, &c.n, &all));
    memset(c.medium.box, 0, sizeof c.medium.box);
    c.all = all;
    c.nsamples = c.n < SAMPLES ? c.n : SAMPLES;
    EQP_TRY(eqp_agree(sim->comm, set_columns(&c, &memory), NULL));
    EQP_TRY(add_all(&c, shells));
    EQP_TRY(eqp_agree(sim->comm, write_text(&c, shells, text), NULL));
done:
    free(c.direct);
    return code;
}
