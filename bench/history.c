/* SPDX-License-Identifier: BSD-3-Clause */
#include "history.h"

#include "timing.h"

#include "../apps/barneshut/physics/generate.h"
#include "../apps/barneshut/physics/motion.h"
#include "../apps/barneshut/physics/serial.h"

#include <equipoise/more/base.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 16, PARTICLE_BYTES = 32, CELL_BYTES = 96 };

static const double softening = 0.01, theta = 0.6, pair = 0.29, cell = 0.65;

static void check(int code)
{
    if (code) {
        bench_die("history", eqp_error_text(code));
    }
}

void bench_frame_make(bench_frame *f, int64_t n, int64_t nitems, int64_t nsources)
{
    *f = (bench_frame){.n = n, .nsources = nsources};
    check(eqp_array_create(&f->first, n + 1, sizeof *f->first));
    check(eqp_array_create(&f->item, nitems, sizeof *f->item));
    check(eqp_array_create(&f->weight, n, sizeof *f->weight));
    check(eqp_array_create(&f->point, 3 * n, sizeof *f->point));
    check(eqp_array_create(&f->source, 3 * n, sizeof *f->source));
    check(eqp_array_create(&f->home, nsources, sizeof *f->home));
    check(eqp_array_create(&f->last, nsources, sizeof *f->last));
    check(eqp_array_create(&f->above, nsources, sizeof *f->above));
    for (int64_t s = 0; s < nsources; s++) {
        f->above[s] = -1;
    }
    check(eqp_array_create(&f->bytes, nsources, sizeof *f->bytes));
    check(eqp_array_create(&f->pin_first, n + 1, sizeof *f->pin_first));
}

void bench_frame_pin(bench_frame *f, int64_t source)
{
    const int64_t n = f->pin_first[f->n];

    check(eqp_array_reserve(&f->pin, &f->pin_room, n + 1, sizeof *f->pin));
    f->pin[n] = (int32_t)source;
    f->pin_first[f->n] = n + 1;
}

int64_t *bench_pieces(const bench_frame *f, const int *part)
{
    int64_t *piece = NULL;

    check(eqp_array_create(&piece, f->n, sizeof *piece));
    for (int64_t o = 1; o < f->n; o++) {
        piece[o] = part[o] == part[o - 1] ? piece[o - 1] : o;
    }
    return piece;
}

void bench_history_free(bench_history *h)
{
    for (int s = 0; s < h->nframes; s++) {
        const bench_frame *f = &h->frame[s];
        void *owned[] = {f->first, f->item,  f->weight, f->point,     f->source, f->home,
                         f->last,  f->above, f->bytes,  f->pin_first, f->pin};
        for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
            free(owned[i]);
        }
    }
    free(h->frame);
}

/* The targets that look at a tree. */
typedef struct viewer {
    const bh_serial *serial;
    int32_t *group_of; /* [particles] in key order */
    int64_t *seen;     /* [sources] last group that had it, + 1 */
    bench_frame *frame;
} viewer;

static void meet(const viewer *v, int64_t g, int64_t source, const double place[3], double sum[3])
{
    if (v->seen[source] != g + 1) {
        v->seen[source] = g + 1;
        bench_frame_pin(v->frame, source);
        for (int d = 0; d < 3; d++) {
            sum[d] += place[d];
        }
    }
}

static void meet_all(const viewer *v, int64_t g, const bh_list *list)
{
    const bh_tree *tree = &v->serial->tree;
    bench_frame *f = v->frame;
    const int64_t begin = f->pin_first[f->n];
    double *sum = f->source + 3 * g;

    for (int64_t c = 0; c < list->ncells; c++) {
        meet(v, g, f->n + list->cell[c], tree->cell[list->cell[c]].moments.com, sum);
    }
    for (int64_t r = 0; r < list->nruns; r++) {
        const int64_t first = list->run_first[r], last = first + list->run_count[r] - 1;
        for (int64_t other = v->group_of[first]; last >= first && other <= v->group_of[last]; other++) {
            meet(v, g, other, f->point + 3 * other, sum);
        }
    }
    f->pin_first[g + 1] = f->pin_first[f->n];
    for (int d = 0; d < 3; d++) {
        sum[d] /= (double)(f->pin_first[f->n] - begin);
    }
}

static void name_sources(const viewer *v)
{
    const bh_serial *serial = v->serial;
    bench_frame *f = v->frame;

    for (int64_t g = 0; g < f->n; g++) {
        const bh_group *group = &serial->group[g];
        f->first[g] = group->first;
        f->home[g] = f->last[g] = (int32_t)g;
        f->bytes[g] = PARTICLE_BYTES * group->count;
        for (int64_t i = group->first; i < group->first + group->count; i++) {
            v->group_of[i] = (int32_t)g;
            f->item[i] = (int32_t)serial->order[i];
        }
        for (int d = 0; d < 3; d++) {
            f->point[3 * g + d] = 0.5 * (group->lo[d] + group->hi[d]);
        }
    }
    f->first[f->n] = serial->n;
    for (int64_t c = 0; c < serial->tree.ncells; c++) {
        int64_t at = c;
        while (serial->tree.cell[at].first == BH_ABSENT) {
            at = serial->tree.cell[at].child;
        }
        f->home[f->n + c] = v->group_of[serial->tree.cell[at].first];
        f->last[f->n + c] = v->group_of[serial->tree.cell[at].first + serial->tree.cell[c].count - 1];
        f->bytes[f->n + c] = CELL_BYTES;
        for (int k = 0; k < serial->tree.cell[c].nchild; k++) {
            f->above[f->n + serial->tree.cell[c].child + k] = (int32_t)(f->n + c);
        }
    }
}

static void look(const bh_serial *serial, bench_frame *f)
{
    const bh_mac mac = {.theta = theta};
    viewer v = {.serial = serial, .frame = f};
    bh_list list;

    bench_frame_make(f, serial->ngroups, serial->n, serial->ngroups + serial->tree.ncells);
    check(eqp_array_create(&v.group_of, serial->n, sizeof *v.group_of));
    check(eqp_array_create(&v.seen, f->nsources, sizeof *v.seen));
    name_sources(&v);
    bh_list_init(&list);
    for (int64_t g = 0; g < f->n; g++) {
        check(bh_walk(&serial->tree, serial->tree.root, &serial->group[g], &mac, NULL, NULL, NULL, &list));
        f->weight[g] = serial->group[g].count * (pair * (double)list.nsources + cell * (double)list.ncells);
        meet_all(&v, g, &list);
    }
    bh_list_free(&list);
    free(v.group_of);
    free(v.seen);
}

void bench_follow_particles(const char *text, int nframes, bench_history *h)
{
    const bh_mac mac = {.theta = theta};
    bh_generator generator;
    eqp_message message = {""};
    double *p[11], fastest = 0.0, dt = 0.0;

    if (bh_generator_parse(text, &generator, &message)) {
        bench_die("history", message.text);
    }
    *h = (bench_history){.nitems = bh_generator_count(&generator), .nframes = nframes};
    check(eqp_array_create(&h->frame, nframes, sizeof *h->frame));
    for (int k = 0; k < 11; k++) {
        check(eqp_array_create(&p[k], h->nitems, sizeof *p[k]));
    }
    check(bh_generate(&generator, 0, h->nitems, p[0], p[1], p[2], p[3], p[4], p[5], p[6]));
    for (int s = 0; s < nframes; s++) {
        bh_serial serial;
        check(bh_serial_build(&serial, h->nitems, p[0], p[1], p[2], p[6], NULL, GROUP, GROUP));
        look(&serial, &h->frame[s]);
        check(bh_serial_force(&serial, NULL, &mac, 1.0, softening, p[7], p[8], p[9], p[10], NULL));
        bh_serial_free(&serial);
        for (int64_t i = 0; i < h->nitems && s == 0; i++) {
            fastest = fmax(fastest, sqrt(p[7][i] * p[7][i] + p[8][i] * p[8][i] + p[9][i] * p[9][i]));
        }
        dt = s == 0 ? 0.1 * sqrt(softening / fastest) : dt;
        bh_kick(h->nitems, s == 0 ? 0.5 * dt : dt, p[7], p[8], p[9], p[3], p[4], p[5]);
        bh_drift(h->nitems, dt, p[3], p[4], p[5], p[0], p[1], p[2]);
    }
    for (int k = 0; k < 11; k++) {
        free(p[k]);
    }
}
