/* SPDX-License-Identifier: BSD-3-Clause */
/* DARMA vt's load data (LBDatafile): JSON, a file for each rank with the tasks that it had in each phase. */
#include "build.h"

#include <jansson.h>

#include <stdlib.h>
#include <string.h>

/* How vt packs an element's number from its sequence number, home and kind: 2 bits of kind, 16 of the home. */
enum { KIND_BITS = 2, NODE_BITS = 16, KIND_STAYS = 2, KIND_MOVES = 3 };
#define MOST_SEQUENCE (INT64_C(1) << (62 - KIND_BITS - NODE_BITS))

/* Most phases that a range of the metadata stands for. */
#define MOST_PHASES 1000000

typedef struct reading {
    rf_build *build;
    int64_t phase, before; /* of which tasks are read; the phase before it that has tasks, or RF_NONE */
    int64_t tasks;
    eqp_message *message;
} reading;

static int refuse(reading *r, const char *what)
{
    return rf_build_refuse(r->build, EQP_ERR_DATA, r->message, "%s in phase %lld", what, (long long)r->phase);
}

/* EQP_ERR_UNKNOWN for one that is not there. */
static int get_int(const json_t *object, const char *name, int64_t *value)
{
    const json_t *field = json_object_get(object, name);

    if (!json_is_integer(field)) {
        return EQP_ERR_UNKNOWN;
    }
    *value = json_integer_value(field);
    return EQP_OK;
}

static int get_real(const json_t *object, const char *name, double *value)
{
    const json_t *field = json_object_get(object, name);

    if (!json_is_number(field)) {
        return EQP_ERR_UNKNOWN;
    }
    *value = json_number_value(field);
    return EQP_OK;
}

/* An element's number; EQP_ERR_UNKNOWN where it has none. *moves: whether it may. */
static int get_element(const json_t *entity, int64_t *id, bool *moves)
{
    int64_t home = 0, sequence;
    int code = get_int(entity, "id", id);

    *moves = json_is_true(json_object_get(entity, "migratable"));
    if (code != EQP_OK) {
        EQP_TRY(get_int(entity, "seq_id", &sequence));
        *id = sequence;
        if (json_object_get(entity, "collection_id") != NULL) {
            EQP_TRY(get_int(entity, "home", &home));
            EQP_TRY(sequence >= 0 && sequence < MOST_SEQUENCE && home >= 0 && home < RF_MOST_RANKS ? EQP_OK
                                                                                                   : EQP_ERR_UNKNOWN);
            *id = ((sequence << NODE_BITS | home) << KIND_BITS) | (*moves ? KIND_MOVES : KIND_STAYS);
        }
    }
    code = *id >= 0 ? EQP_OK : EQP_ERR_UNKNOWN;
done:
    return code;
}

static int read_task(reading *r, const json_t *task)
{
    const json_t *entity = json_object_get(task, "entity");
    rf_row row = {.phase = r->phase, .bytes = RF_NONE};
    int64_t index;
    bool moves;
    int code;

    rf_build_at(r->build, r->tasks++);
    EQP_TRY(get_element(entity, &row.item, &moves) == EQP_OK ? EQP_OK : refuse(r, "an entity without a number"));
    if (row.item == 0) {
        return EQP_OK; /* vt's own object, which every rank has and no map moves */
    }
    row.fixed = !moves;
    EQP_TRY(get_int(task, "node", &row.rank) == EQP_OK ? EQP_OK : refuse(r, "a task without 'node'"));
    EQP_TRY(get_real(task, "time", &row.load) == EQP_OK ? EQP_OK : refuse(r, "a task without 'time'"));
    EQP_TRY(rf_build_row(r->build, &row, &index, r->message));
    if (!rf_build_has_name(r->build, index)) {
        EQP_TRY(rf_build_name(r->build, index, json_dumps(entity, JSON_COMPACT | JSON_SORT_KEYS)));
    }
done:
    return code;
}

/* Only what goes from item to item depends on the map. */
static int read_communication(reading *r, const json_t *communication)
{
    const json_t *from = json_object_get(communication, "from"), *to = json_object_get(communication, "to");
    const char *from_type = json_string_value(json_object_get(from, "type"));
    const char *to_type = json_string_value(json_object_get(to, "type"));
    int64_t source, target;
    double bytes = 0;
    bool moves;
    int code;

    EQP_TRY(get_real(communication, "bytes", &bytes) == EQP_OK ? EQP_OK : refuse(r, "a communication without 'bytes'"));
    EQP_TRY(bytes >= 0 && bytes <= 0x1p50 ? EQP_OK : refuse(r, "a communication with a strange number of bytes"));
    if (from_type == NULL || to_type == NULL || strcmp(from_type, "object") != 0 || strcmp(to_type, "object") != 0) {
        rf_build_leave_out(r->build);
        return EQP_OK;
    }
    EQP_TRY(get_element(from, &source, &moves) == EQP_OK && get_element(to, &target, &moves) == EQP_OK
                ? EQP_OK
                : refuse(r, "a communication of an entity without a number"));
    EQP_TRY(rf_build_edge(r->build, source, target, (int64_t)bytes, r->phase, r->message));
done:
    return code;
}

static int read_phase(reading *r, const json_t *phase)
{
    const json_t *tasks = json_object_get(phase, "tasks"), *communications = json_object_get(phase, "communications");
    const json_t *one;
    size_t i;
    int code;

    r->phase = 0;
    r->tasks = 0;
    rf_build_at(r->build, 0);
    EQP_TRY(get_int(phase, "id", &r->phase) == EQP_OK && r->phase >= 0 ? EQP_OK : refuse(r, "an 'id' that is none"));
    json_array_foreach(tasks, i, one)
    {
        EQP_TRY(read_task(r, one));
    }
    json_array_foreach(communications, i, one)
    {
        rf_build_at(r->build, (int64_t)i);
        EQP_TRY(read_communication(r, one));
    }
    code = EQP_OK;
done:
    return code;
}

/* The last phase of the file before another one. */
static int64_t phase_before(const json_t *phases, int64_t phase)
{
    const json_t *one;
    int64_t id, best = RF_NONE;
    size_t i;

    json_array_foreach(phases, i, one)
    {
        if (get_int(one, "id", &id) == EQP_OK && id < phase && id > best) {
            best = id;
        }
    }
    return best;
}

static int repeat(reading *r, const json_t *phases, int64_t first, int64_t last)
{
    const int64_t of = phase_before(phases, first);
    int code = EQP_OK;

    if (first < 0 || last < first || last - first >= MOST_PHASES || of == RF_NONE) {
        r->phase = first;
        return refuse(r, "'identical_to_previous' that cannot be");
    }
    for (int64_t p = first; p <= last && code == EQP_OK; p++) {
        code = rf_build_repeat(r->build, p, of);
    }
    return code;
}

/* Phases that are like the one before them are not in the file. */
static int read_repeats(reading *r, const json_t *root, const json_t *phases)
{
    const json_t *of = json_object_get(
        json_object_get(json_object_get(json_object_get(root, "metadata"), "phases"), "identical_to_previous"), "list");
    const json_t *ranges = json_object_get(
        json_object_get(json_object_get(json_object_get(root, "metadata"), "phases"), "identical_to_previous"),
        "range");
    const json_t *one;
    size_t i;
    int code = EQP_OK;

    json_array_foreach(of, i, one)
    {
        EQP_TRY(json_is_integer(one) ? repeat(r, phases, json_integer_value(one), json_integer_value(one))
                                     : refuse(r, "'identical_to_previous' that is none"));
    }
    json_array_foreach(ranges, i, one)
    {
        const json_t *first = json_array_get(one, 0), *last = json_array_get(one, 1);
        EQP_TRY(json_is_integer(first) && json_is_integer(last)
                    ? repeat(r, phases, json_integer_value(first), json_integer_value(last))
                    : refuse(r, "'identical_to_previous' that is none"));
    }
done:
    return code;
}

int rf_read_vt(rf_build *build, const char *path, eqp_message *message)
{
    reading r = {.build = build, .message = message};
    json_error_t error;
    json_t *root = NULL;
    char *bytes = NULL;
    int64_t size = 0;
    const json_t *phases, *one;
    size_t i;
    int code;

    EQP_TRY(rf_build_open(build, path, "task"));
    EQP_TRY(rf_read_bytes(path, &bytes, &size, message)); /* jansson reads a stream byte by byte */
    root = json_loadb(bytes, (size_t)size, 0, &error);
    free(bytes);
    bytes = NULL;
    if (root == NULL) {
        const bool memory = json_error_code(&error) == json_error_out_of_memory;
        eqp_message_set(message, "%.250s: line %d, column %d: %.150s", path, error.line, error.column, error.text);
        EQP_TRY(memory ? EQP_ERR_MEMORY : EQP_ERR_FORMAT);
    }
    phases = json_object_get(root, "phases");
    if (!json_is_array(phases)) {
        eqp_message_set(message, "%.250s: JSON, but none of vt's load data: there is no array 'phases'", path);
        EQP_TRY(EQP_ERR_FORMAT);
    }
    json_array_foreach(phases, i, one)
    {
        EQP_TRY(read_phase(&r, one));
    }
    EQP_TRY(read_repeats(&r, root, phases));
done:
    free(bytes);
    json_decref(root);
    return code;
}
