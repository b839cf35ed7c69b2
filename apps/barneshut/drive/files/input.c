/* SPDX-License-Identifier: BSD-3-Clause */
#include "input.h"

#include "../../../shell/run_files.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/more/curve.h>
#include <equipoise/snapshot.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const bh_cells_attribute[] = {"cells_x", "cells_y", "cells_z", "cells_side"};

static void number(bh_particles *p, int64_t first)
{
    for (int64_t i = 0; i < p->n; i++) {
        p->index[i] = first + i;
    }
}

static int generate(int rank, int nranks, const bh_settings *settings, bh_particles *p, bh_input *input,
                    eqp_message *message)
{
    int64_t first, count;
    int code;

    input->total = bh_generator_count(&settings->generator);
    code = app_run_check_particles(&settings->run, "barneshut: --generate", input->total, 0, message);
    if (code != EQP_OK) {
        return code;
    }
    snprintf(input->format, sizeof input->format, "generated %s", settings->generator.kind->name);
    app_slice(input->total, rank, nranks, &first, &count);
    EQP_TRY(bh_particles_resize(p, count));
    EQP_TRY(bh_generate(&settings->generator, first, count, p->x, p->y, p->z, p->vx, p->vy, p->vz, p->m));
done:
    if (code != EQP_OK) {
        eqp_message_set(message, "barneshut: --generate: %s", eqp_error_text(code));
        return code;
    }
    number(p, first);
    for (int64_t i = 0; i < count; i++) {
        p->id[i] = first + i;
        p->kind[i] = 1;
    }
    return EQP_OK;
}

static int read_slice(const eqp_snapshot *snapshot, int64_t first, int64_t count, bh_particles *p, eqp_message *message)
{
    int8_t *type = NULL;
    int code;

    EQP_TRY(eqp_array_create(&type, count, sizeof *type));
    EQP_TRY(bh_particles_resize(p, count));
    const eqp_snapshot_arrays arrays = {
        .x = p->x, .y = p->y, .z = p->z, .vx = p->vx, .vy = p->vy, .vz = p->vz, .m = p->m, .id = p->id, .type = type};
    EQP_TRY(eqp_snapshot_read(snapshot, first, count, &arrays, message));
    for (int64_t i = 0; i < count; i++) {
        p->kind[i] = type[i];
    }
done:
    if (code == EQP_ERR_MEMORY) {
        eqp_message_set(message, "barneshut: %s", eqp_error_text(code));
    }
    free(type);
    number(p, first);
    return code;
}

static uint64_t bits_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

uint64_t bh_input_checksum_rows(const bh_input *moment, int64_t first, int64_t n, const void *const *word)
{
    const int nwords = 13 + (moment->tick > 0) + (moment->cells.side > 0);
    uint64_t sum = 0;

    for (int c = 0; c < nwords; c++) {
        sum += app_checksum_column(first, c, n, word[c]);
    }
    return sum;
}

uint64_t bh_input_checksum_moment(const bh_input *moment)
{
    const bh_box *cells = &moment->cells;
    const uint64_t when[] = {(uint64_t)moment->step,    bits_of(moment->dt),       bits_of(moment->time),
                             (uint64_t)moment->tick,    bits_of(cells->corner[0]), bits_of(cells->corner[1]),
                             bits_of(cells->corner[2]), bits_of(cells->side)};

    uint64_t sum = app_checksum_row(-1, 0, 3 + (moment->tick > 0) + 4 * (cells->side > 0), when);

    if (moment->words.n > 0) { /* the words have a checksum of their own */
        const uint64_t further[] = {bits_of(moment->kick), (uint64_t)moment->group_size, moment->words.word[1]};
        sum += app_checksum_row(-2, 0, 3, further);
    }
    return sum;
}

static uint64_t checksum_of(MPI_Comm comm, const bh_particles *p, int64_t first, const bh_input *moment)
{
    const void *const word[] = {p->id, p->kind, p->m,  p->x,  p->y,   p->z,    p->vx, p->vy,
                                p->vz, p->ax,   p->ay, p->az, p->pot, p->rung, p->key};

    return app_checksum_sum(comm, bh_input_checksum_rows(moment, first, p->n, word)) + bh_input_checksum_moment(moment);
}

/* Files of older versions have no checksum; but a file that was never written has only zeros. Collective. */
static int check_restart(MPI_Comm comm, const char *path, const bh_particles *p, const bh_input *input, int64_t first,
                         const eqp_attribute *checksum, eqp_message *message)
{
    int64_t nonzero = 0;
    bool damaged;

    if (checksum->name != NULL) {
        damaged = checksum_of(comm, p, first, input) != (uint64_t)checksum->integer;
    } else {
        for (int64_t i = 0; i < p->n; i++) {
            nonzero += p->id[i] != 0 || p->m[i] != 0 || p->x[i] != 0;
        }
        EQP_CHECK(eqp_sum_int64(comm, 1, &nonzero));
        damaged = nonzero == 0;
    }
    if (damaged) {
        eqp_message_set(message, "%s: is damaged: %s", path,
                        checksum->name != NULL ? "its checksum is not that of its particles" : "nothing but zeros");
    }
    return damaged ? EQP_ERR_FORMAT : EQP_OK;
}

/* Reads an optional number: if absent its name becomes NULL and its value stays. */
static int find_attribute(const eqp_snapshot *snapshot, eqp_attribute *attribute, eqp_message *message)
{
    eqp_message why = {""};
    const int code = eqp_snapshot_get_attribute(snapshot, attribute, &why);

    if (code == EQP_ERR_UNKNOWN) {
        attribute->name = NULL;
        return EQP_OK;
    }
    if (code != EQP_OK) {
        *message = why;
    }
    return code;
}

/* Files of older versions have none. */
static int find_words(const eqp_snapshot *snapshot, app_words *words, eqp_message *message)
{
    eqp_message why = {""};
    const int code = eqp_snapshot_get_words(snapshot, &words->n, &words->word, &why);

    if (code != EQP_OK && code != EQP_ERR_UNKNOWN) {
        *message = why;
    }
    return code == EQP_ERR_UNKNOWN ? EQP_OK : code;
}

/* Reads the cells in which particles had drifted, if the file has them. */
static int read_cells(const eqp_snapshot *snapshot, const char *path, int64_t first, int64_t count, bh_particles *p,
                      bh_input *input, eqp_message *message)
{
    const eqp_column column = {"Key", EQP_KIND_UINT64, 1};
    bh_box *cells = &input->cells;
    double *const value[] = {&cells->corner[0], &cells->corner[1], &cells->corner[2], &cells->side};
    void *const key[] = {p->key};
    int64_t wrong = 0;
    int code = EQP_OK;

    for (int a = 0; a < BH_CELLS_ATTRIBUTES && code == EQP_OK; a++) {
        eqp_attribute attribute = {.name = bh_cells_attribute[a], .kind = EQP_KIND_DOUBLE};
        code = find_attribute(snapshot, &attribute, message);
        *value[a] = attribute.real;
    }
    if (code != EQP_OK || cells->side == 0) {
        return code;
    }
    EQP_TRY(eqp_snapshot_read_column(snapshot, &column, first, count, key, message));
    for (int64_t i = 0; i < count; i++) {
        wrong += p->key[i] >= EQP_CURVE_END;
    }
    if (wrong > 0 || !(cells->side > 0) ||
        !isfinite(cells->side + cells->corner[0] + cells->corner[1] + cells->corner[2])) {
        eqp_message_set(message, "%s: cells or some key are out of range", path);
        return EQP_ERR_FORMAT;
    }
done:
    return code;
}

/* A stopped step continues with the same number of rungs, since ticks are steps of the last one. */
static int read_tick(const eqp_snapshot *snapshot, const char *path, int64_t nrungs, int64_t first, int64_t count,
                     bh_particles *p, bh_input *input, eqp_message *message)
{
    eqp_attribute rungs = {.name = "rungs", .kind = EQP_KIND_INT64, .integer = 1};
    eqp_attribute tick = {.name = "tick", .kind = EQP_KIND_INT64};
    const eqp_column column = {"Rung", EQP_KIND_INT64, 1};
    int64_t wrong = 0;

    EQP_CHECK(find_attribute(snapshot, &rungs, message));
    EQP_CHECK(find_attribute(snapshot, &tick, message));
    if (rungs.integer != nrungs) {
        eqp_message_set(message, "%s: was stopped within a step with --rungs %lld: give the same", path,
                        (long long)rungs.integer);
        return EQP_ERR_ARGUMENT;
    }
    if (nrungs == 1) {
        return EQP_OK;
    }
    void *const rung[] = {p->rung};
    EQP_CHECK(eqp_snapshot_read_column(snapshot, &column, first, count, rung, message));
    for (int64_t i = 0; i < count; i++) {
        wrong += p->rung[i] < 0 || p->rung[i] >= nrungs;
    }
    if (wrong > 0 || tick.integer < 1 || tick.integer > INT64_C(1) << (nrungs - 1)) {
        eqp_message_set(message, "%s: tick %lld or some rung is out of range", path, (long long)tick.integer);
        return EQP_ERR_FORMAT;
    }
    input->tick = tick.integer;
    return read_cells(snapshot, path, first, count, p, input, message);
}

/* Reads the parts that only a restart file has: its step, and the forces for the relative criterion. */
static int read_restart(const eqp_snapshot *snapshot, const char *path, const bh_settings *settings, int64_t first,
                        int64_t count, bh_particles *p, bh_input *input, eqp_attribute *checksum, eqp_message *message)
{
    eqp_attribute step = {.name = "step", .kind = EQP_KIND_INT64}, dt = {.name = "dt", .kind = EQP_KIND_DOUBLE};
    eqp_attribute kick = {.name = "kick", .kind = EQP_KIND_DOUBLE};
    eqp_attribute group = {.name = "group_size", .kind = EQP_KIND_INT64};
    const eqp_column acceleration = {"Acceleration", EQP_KIND_DOUBLE, 3}, potential = {"Potential", EQP_KIND_DOUBLE, 1};
    void *const a[] = {p->ax, p->ay, p->az}, *const pot[] = {p->pot};
    bool recognised = false;
    int code;

    EQP_TRY(eqp_snapshot_get_attribute(snapshot, &step, message));
    EQP_TRY(eqp_snapshot_get_attribute(snapshot, &dt, message));
    EQP_TRY(eqp_snapshot_read_column(snapshot, &acceleration, first, count, a, message));
    EQP_TRY(eqp_snapshot_read_column(snapshot, &potential, first, count, pot, message));
    recognised = true;
    EQP_TRY(find_attribute(snapshot, &kick, message));  /* 0: velocities are complete */
    EQP_TRY(find_attribute(snapshot, &group, message)); /* 0: given by the user */
    if (kick.real > 0) {
        EQP_TRY(read_tick(snapshot, path, settings->rungs, first, count, p, input, message));
    }
    if (step.integer < 0 || !(dt.real > 0) || !(kick.real >= 0)) {
        eqp_message_set(message, "%s: /Equipoise: step %lld, dt %g or kick %g is out of range", path,
                        (long long)step.integer, dt.real, kick.real);
        return EQP_ERR_FORMAT;
    }
    if (step.integer > settings->run.steps) {
        eqp_message_set(message, "%s: is at step %lld already: --steps counts from the very beginning", path,
                        (long long)step.integer);
        return EQP_ERR_ARGUMENT;
    }
    *checksum = (eqp_attribute){.name = "checksum", .kind = EQP_KIND_UINT64};
    EQP_TRY(find_attribute(snapshot, checksum, message));
    EQP_TRY(find_words(snapshot, &input->words, message));
    input->step = step.integer;
    input->dt = dt.real;
    input->kick = kick.real;
    input->group_size = group.integer;
done:
    if (code == EQP_ERR_UNKNOWN && !recognised) {
        eqp_message_set(message, "%s: no restart file: it does not say at which step it was written", path);
        return EQP_ERR_FORMAT;
    }
    return code;
}

static void add_note(eqp_message *note, const char *what)
{
    eqp_message_set(note, "%s%s%s", note->text, note->text[0] != '\0' ? "; " : "", what);
}

static void note_input(const eqp_snapshot_info *info, const bh_settings *settings, eqp_message *note)
{
    const bool has_cosmology = info->omega0 > 0 || (info->hubble > 0 && info->hubble != 1);
    char what[256];

    *note = info->note;
    if (!info->has_velocities) {
        add_note(note, "has no velocities: all particles are at rest");
    }
    if (!info->has_masses) {
        add_note(note, "has no masses: all are equal, 1 in total");
    }
    if (info->cosmological || has_cosmology || info->has_units) {
        snprintf(what, sizeof what, "%s: assumed are G = %g, softening = %g and the units of the file",
                 info->cosmological ? "is cosmological"
                 : has_cosmology    ? "names a cosmology"
                                    : "has units of its own",
                 settings->G, settings->softening);
        add_note(note, what);
    }
    if (info->cosmological && info->hubble > 0) {
        snprintf(what, sizeof what, "the scale factor %g and h = %g are not applied to lengths and masses", info->time,
                 info->hubble);
        add_note(note, what);
    } else if (info->cosmological || (info->hubble > 0 && info->hubble != 1)) {
        snprintf(what, sizeof what, "%s %g is not applied to lengths and masses",
                 info->cosmological ? "the scale factor" : "h =", info->cosmological ? info->time : info->hubble);
        add_note(note, what);
    }
    if (info->box_size > 0) {
        snprintf(what, sizeof what, "has a periodic box of edge %g; its boundaries are taken as open", info->box_size);
        add_note(note, what);
    }
}

static int read_file(int rank, int nranks, const bh_settings *settings, bh_particles *p, bh_input *input,
                     eqp_attribute *checksum, eqp_message *message)
{
    const char *path = app_run_input_path(&settings->run);
    eqp_snapshot *snapshot = NULL;
    int64_t first, count;
    int code = eqp_snapshot_open(path, &snapshot, message);

    if (code != EQP_OK) {
        return code;
    }
    const eqp_snapshot_info *info = eqp_snapshot_get_info(snapshot);
    input->total = info->n;
    input->time = info->time;
    note_input(info, settings, &input->note);
    snprintf(input->format, sizeof input->format, "%s", info->format);
    app_slice(info->n, rank, nranks, &first, &count);
    EQP_TRY(app_run_check_particles(&settings->run, path, info->n, info->bytes, message));
    if (!info->has_masses && settings->run.ncompare == 0) {
        eqp_message_set(message, "%s: has no masses, which forces need; only --compare does without", path);
        code = EQP_ERR_FORMAT;
        goto done;
    }
    EQP_TRY(read_slice(snapshot, first, count, p, message));
    if (settings->run.restart != NULL) {
        EQP_TRY(read_restart(snapshot, path, settings, first, count, p, input, checksum, message));
    }
done:
    eqp_snapshot_close(snapshot);
    return code;
}

int bh_input_read(MPI_Comm comm, const bh_settings *settings, bh_particles *particles, bh_input *input,
                  eqp_message *message)
{
    eqp_attribute checksum = {.name = NULL};
    int rank, nranks, code;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &nranks);
    *input = (bh_input){0};
    if (settings->run.generate != NULL) {
        code = generate(rank, nranks, settings, particles, input, message);
    } else {
        code = read_file(rank, nranks, settings, particles, input, &checksum, message);
    }
    code = eqp_agree(comm, code, message);
    if (code == EQP_OK && settings->run.restart != NULL) {
        int64_t first, count;
        app_slice(input->total, rank, nranks, &first, &count);
        code = check_restart(comm, settings->run.restart, particles, input, first, &checksum, message);
    }
    return code;
}
