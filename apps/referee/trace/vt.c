/* SPDX-License-Identifier: BSD-3-Clause */
/* Reader of DARMA vt's load data (LBDatafile): JSON, one file per rank with its tasks in each phase. */
#include "build.h"

#include <jansson.h>

#include <stdlib.h>
#include <string.h>

/* vt's encoding of an element's number: sequence number, 16 bits of home, 2 bits of kind. */
enum { KIND_BITS = 2, NODE_BITS = 16, KIND_STAYS = 2, KIND_MOVES = 3 };
#define MOST_SEQUENCE (INT64_C(1) << (62 - KIND_BITS - NODE_BITS))

/* Most phases of a file that the metadata declare equal to their predecessor. */
#define MOST_PHASES 1000000

typedef struct told {
    int64_t id, row, end;
} told;

typedef struct reading {
    rf_build *build;
    rf_vt_names *names;
    int64_t phase; /* whose tasks are being read */
    int64_t tasks;
    told *told; /* [nphases] by number */
    int64_t nphases, repeated;
} reading;

static int refuse(reading *r, const char *what)
{
    return rf_build_refuse(r->build, EQP_ERR_DATA, "%s in phase %lld", what, (long long)r->phase);
}

/* EQP_ERR_UNKNOWN if absent. */
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

/* Name of an element in messages: kind, sequence number, and home or -1. False if it has none. */
static bool get_name(const json_t *entity, int64_t name[RF_KEY_WORDS])
{
    name[2] = -1;
    name[3] = 0;
    (void)get_int(entity, "home", &name[2]);
    return get_int(entity, "collection_id", &name[0]) == EQP_OK && get_int(entity, "seq_id", &name[1]) == EQP_OK;
}

/* Number of an element; EQP_ERR_UNKNOWN without one. *moves: true if it may move. */
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

/* Stores a task's number under its name with and without home, for messages that have only the name. */
static int remember(reading *r, const json_t *entity, int64_t id)
{
    rf_vt_names *names = r->names;
    int64_t name[RF_KEY_WORDS], at;
    bool more = get_name(entity, name);

    while (more) {
        const int64_t before = names->keys.n;
        EQP_CHECK(rf_keys_take(&names->keys, name, &at));
        EQP_CHECK(eqp_array_reserve(&names->id, &names->room, at + 1, sizeof *names->id));
        names->id[at] = at == before || names->id[at] == id ? id : RF_NONE; /* RF_NONE: two tasks have the same name */
        more = name[2] >= 0;
        name[2] = -1;
    }
    return EQP_OK;
}

/* Memory of a task, as defined by vt's CCM balancer. */
static int read_needs(reading *r, const json_t *task, rf_row *row)
{
    static const char *const names[] = {"task_footprint_bytes", "task_working_bytes", "task_serialized_bytes",
                                        "shared_bytes", "rank_working_bytes"};
    enum { FOOTPRINT, WORKING, SERIALIZED, SHARED, OF_RANK, FIELDS };
    const json_t *user = json_object_get(task, "user_defined");
    double value[FIELDS] = {0}, block = -1;

    for (int k = 0; k < FIELDS; k++) {
        row->needs.known = get_real(user, names[k], &value[k]) == EQP_OK || row->needs.known;
        EQP_CHECK(value[k] >= 0 && value[k] <= 0x1p60 ? EQP_OK : refuse(r, "a task with a strange number of bytes"));
    }
    (void)get_real(user, "shared_id", &block);
    row->needs.block = block >= 0 && block < 0x1p53 ? (int64_t)block : -1;
    row->needs.held = value[FOOTPRINT];
    row->needs.working = value[WORKING] + value[SERIALIZED];
    row->needs.block_bytes = value[SHARED];
    row->needs.rank_bytes = value[OF_RANK];
    row->bytes = json_object_get(user, names[SERIALIZED]) != NULL ? (int64_t)value[SERIALIZED] : RF_NONE;
    return EQP_OK;
}

static int read_task(reading *r, const json_t *task)
{
    const json_t *entity = json_object_get(task, "entity");
    rf_row row = {.phase = r->phase, .bytes = RF_NONE};
    int64_t index;
    bool moves;

    r->build->number = r->tasks++;
    EQP_CHECK(get_element(entity, &row.item, &moves) == EQP_OK ? EQP_OK : refuse(r, "an entity without a number"));
    if (row.item == 0) {
        return EQP_OK; /* vt's own object, present on every rank and never moved */
    }
    row.fixed = !moves;
    EQP_CHECK(get_int(task, "node", &row.rank) == EQP_OK ? EQP_OK : refuse(r, "a task without 'node'"));
    EQP_CHECK(get_real(task, "time", &row.load) == EQP_OK ? EQP_OK : refuse(r, "a task without 'time'"));
    EQP_CHECK(read_needs(r, task, &row));
    EQP_CHECK(rf_build_row(r->build, &row, &index));
    EQP_CHECK(remember(r, entity, row.item));
    if (r->build->item[index].name == NULL) {
        EQP_CHECK(rf_build_name(r->build, index, json_dumps(entity, JSON_COMPACT | JSON_SORT_KEYS)));
    }
    return EQP_OK;
}

/* An end of a message: its number, or RF_NONE with its name. */
static int get_end(const json_t *entity, rf_vt_end *end)
{
    bool moves;

    end->id = RF_NONE;
    if (json_object_get(entity, "id") == NULL && get_name(entity, end->name)) {
        return EQP_OK;
    }
    return get_element(entity, &end->id, &moves);
}

/* Messages between names are kept until all tasks are known. */
static int add_message(reading *r, const rf_vt_end *from, const rf_vt_end *to, int64_t bytes)
{
    rf_vt_names *names = r->names;

    if (from->id != RF_NONE && to->id != RF_NONE) {
        return rf_build_edge(r->build, from->id, to->id, bytes, r->phase);
    }
    EQP_CHECK(eqp_array_reserve(&names->message, &names->message_room, names->nmessages + 1, sizeof *names->message));
    names->message[names->nmessages++] = (rf_vt_message){*from, *to, bytes, r->phase};
    return EQP_OK;
}

static int64_t number_of(const rf_vt_names *names, const rf_vt_end *end)
{
    const int64_t at = end->id == RF_NONE ? rf_keys_find(&names->keys, end->name) : -1;

    return end->id != RF_NONE ? end->id : at >= 0 ? names->id[at] : RF_NONE;
}

int rf_vt_resolve(rf_build *build, const rf_vt_names *names)
{
    for (int64_t i = 0; i < names->nmessages; i++) {
        const rf_vt_message *m = &names->message[i];
        const int64_t from = number_of(names, &m->from), to = number_of(names, &m->to);
        if (from == RF_NONE || to == RF_NONE) {
            build->left_out++;
        } else {
            EQP_CHECK(rf_build_edge(build, from, to, m->bytes, m->phase));
        }
    }
    return EQP_OK;
}

void rf_vt_names_free(rf_vt_names *names)
{
    rf_keys_free(&names->keys);
    free(names->id);
    free(names->message);
}

/* Keeps messages between items, since only they depend on the map. */
static int read_communication(reading *r, const json_t *communication)
{
    const json_t *from = json_object_get(communication, "from"), *to = json_object_get(communication, "to");
    const char *from_type = json_string_value(json_object_get(from, "type"));
    const char *to_type = json_string_value(json_object_get(to, "type"));
    rf_vt_end source, target;
    double bytes = 0;

    EQP_CHECK(get_real(communication, "bytes", &bytes) == EQP_OK ? EQP_OK
                                                                 : refuse(r, "a communication without 'bytes'"));
    EQP_CHECK(bytes >= 0 && bytes <= 0x1p50 ? EQP_OK : refuse(r, "a communication with a strange number of bytes"));
    if (from_type == NULL || to_type == NULL || strcmp(from_type, "object") != 0 || strcmp(to_type, "object") != 0) {
        r->build->left_out++;
        return EQP_OK;
    }
    EQP_CHECK(get_end(from, &source) == EQP_OK && get_end(to, &target) == EQP_OK
                  ? EQP_OK
                  : refuse(r, "a communication of an entity without a number"));
    return add_message(r, &source, &target, (int64_t)bytes);
}

static int read_phase(reading *r, const json_t *phase)
{
    const json_t *tasks = json_object_get(phase, "tasks"), *communications = json_object_get(phase, "communications");
    const json_t *one;
    size_t i;
    int code;

    r->phase = 0;
    r->tasks = 0;
    r->build->number = 0;
    EQP_TRY(get_int(phase, "id", &r->phase) == EQP_OK && r->phase >= 0 ? EQP_OK : refuse(r, "an invalid 'id'"));
    r->told[r->nphases] = (told){.id = r->phase, .row = r->build->nrows};
    json_array_foreach(tasks, i, one)
    {
        EQP_TRY(read_task(r, one));
    }
    json_array_foreach(communications, i, one)
    {
        r->build->number = (int64_t)i;
        EQP_TRY(read_communication(r, one));
    }
    r->told[r->nphases++].end = r->build->nrows;
    code = EQP_OK;
done:
    return code;
}

static int by_phase(const void *a, const void *b)
{
    const int64_t x = ((const told *)a)->id, y = ((const told *)b)->id;

    return (x > y) - (x < y);
}

/* Last phase of the file before another one, or NULL. */
static const told *phase_before(const reading *r, int64_t phase)
{
    int64_t low = 0, high = r->nphases;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (r->told[middle].id < phase) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 ? &r->told[low - 1] : NULL;
}

static int repeat(reading *r, int64_t first, int64_t last)
{
    const told *of = phase_before(r, first);

    r->phase = first;
    if (first < 0 || last < first || last - first >= MOST_PHASES - r->repeated || of == NULL) {
        return refuse(r, "'identical_to_previous' that cannot be");
    }
    r->repeated += last - first + 1;
    return rf_build_repeat(r->build, first, last, of->row, of->end);
}

/* The file omits phases that equal their predecessor. */
static int read_repeats(reading *r, const json_t *root)
{
    const json_t *of = json_object_get(
        json_object_get(json_object_get(json_object_get(root, "metadata"), "phases"), "identical_to_previous"), "list");
    const json_t *ranges = json_object_get(
        json_object_get(json_object_get(json_object_get(root, "metadata"), "phases"), "identical_to_previous"),
        "range");
    const json_t *one;
    size_t i;

    qsort(r->told, (size_t)r->nphases, sizeof *r->told, by_phase);
    json_array_foreach(of, i, one)
    {
        EQP_CHECK(json_is_integer(one) ? repeat(r, json_integer_value(one), json_integer_value(one))
                                       : refuse(r, "an invalid 'identical_to_previous'"));
    }
    json_array_foreach(ranges, i, one)
    {
        const json_t *first = json_array_get(one, 0), *last = json_array_get(one, 1);
        EQP_CHECK(json_is_integer(first) && json_is_integer(last)
                      ? repeat(r, json_integer_value(first), json_integer_value(last))
                      : refuse(r, "an invalid 'identical_to_previous'"));
    }
    return EQP_OK;
}

/* N in NAME.N.json, or RF_NONE. */
static int64_t rank_of_name(const char *path)
{
    static const char ending[] = ".json";
    const size_t length = strlen(path), tail = sizeof ending - 1;
    size_t at = length > tail && strcmp(path + length - tail, ending) == 0 ? length - tail : 0;
    const size_t end = at;
    int64_t rank = 0;

    while (at > 0 && path[at - 1] >= '0' && path[at - 1] <= '9' && end - at < 6) {
        at--;
    }
    for (size_t k = at; k < end; k++) {
        rank = 10 * rank + (path[k] - '0');
    }
    return at < end && at > 0 && path[at - 1] == '.' ? rank : RF_NONE;
}

/* Rank of a file, from its metadata or its name. */
static int read_rank(reading *r, const char *path, const json_t *root)
{
    const json_t *metadata = json_object_get(root, "metadata");
    int64_t rank = rank_of_name(path), nranks;

    r->build->number = 0;
    (void)get_int(metadata, "rank", &rank);
    if (rank != RF_NONE) {
        EQP_CHECK(rank >= 0 && rank < RF_MOST_RANKS ? EQP_OK : refuse(r, "a strange rank in the metadata"));
        r->build->file[r->build->npaths - 1].rank = rank;
    }
    if (get_int(metadata, "num_ranks", &nranks) == EQP_OK) {
        EQP_CHECK(rf_build_nranks(r->build, nranks));
    }
    return EQP_OK;
}

static int load_json(const char *path, json_t **root, eqp_message *message)
{
    static const char mark[] = "\xef\xbb\xbf"; /* byte order mark */
    json_error_t error;
    RF_FREED char *bytes = NULL;
    int64_t size = 0, skip;

    EQP_CHECK(rf_read_bytes(path, &bytes, &size, message)); /* jansson reads a stream byte by byte */
    skip = size >= 3 && memcmp(bytes, mark, 3) == 0 ? 3 : 0;
    *root = json_loadb(bytes + skip, (size_t)(size - skip), 0, &error);
    if (*root == NULL) {
        const bool memory = json_error_code(&error) == json_error_out_of_memory;
        eqp_message_set(message, "%.250s: line %d, column %d: %.150s", path, error.line, error.column, error.text);
        EQP_CHECK(memory ? EQP_ERR_MEMORY : EQP_ERR_FORMAT);
    }
    return EQP_OK;
}

/* vt also writes statistics of a run, which have phases too. */
static bool is_load_data(const json_t *root)
{
    const json_t *own = json_object_get(root, "type"),
                 *type = json_object_get(json_object_get(root, "metadata"), "type");

    type = type != NULL ? type : own;
    return type == NULL || (json_is_string(type) && strcmp(json_string_value(type), "LBDatafile") == 0);
}

/* Reads equipoise-lazy's report: seconds of each rank in each step. Each rank is an item. */
static int read_report(reading *r, const json_t *root)
{
    const json_t *steps = json_object_get(root, "cpu_seconds"), *one, *seconds;
    int64_t each = 1;
    size_t i, k;

    (void)get_int(root, "steps_per_row", &each);
    each = each >= 1 && each <= MOST_PHASES ? each : 1;
    rf_build_note(r->build, "there are loads of ranks only: each rank is one item");
    json_array_foreach(steps, i, one)
    {
        json_array_foreach(one, k, seconds)
        {
            const rf_row row = {.item = (int64_t)k,
                                .phase = (int64_t)i * each,
                                .load = json_is_number(seconds) ? json_number_value(seconds) : -1.0,
                                .rank = (int64_t)k,
                                .bytes = RF_NONE};
            r->build->number = (int64_t)k;
            EQP_CHECK(rf_build_row(r->build, &row, NULL));
        }
    }
    return EQP_OK;
}

int rf_read_vt(rf_build *build, const char *path, rf_vt_names *names)
{
    reading r = {.build = build, .names = names};
    json_t *root = NULL;
    const json_t *phases, *one;
    size_t i;
    int code;

    EQP_TRY(load_json(path, &root, build->message));
    phases = json_object_get(root, "phases");
    if (phases == NULL && json_is_array(json_object_get(root, "cpu_seconds"))) {
        EQP_TRY(rf_build_open(build, path, "rank"));
        EQP_TRY(read_report(&r, root));
        goto done;
    }
    if (!json_is_array(phases) || !is_load_data(root)) {
        eqp_message_set(build->message,
                        "%.250s: JSON, but none of vt's load data: there is no array 'phases' of an LBDatafile", path);
        EQP_TRY(EQP_ERR_UNKNOWN);
    }
    EQP_TRY(rf_build_open(build, path, "task"));
    EQP_TRY(eqp_array_create(&r.told, (int64_t)json_array_size(phases), sizeof *r.told));
    EQP_TRY(read_rank(&r, path, root));
    json_array_foreach(phases, i, one)
    {
        EQP_TRY(read_phase(&r, one));
    }
    EQP_TRY(read_repeats(&r, root));
done:
    free(r.told);
    json_decref(root);
    return code;
}
