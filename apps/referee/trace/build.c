/* SPDX-License-Identifier: BSD-3-Clause */
#include "build.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int rf_build_create(int64_t wanted, eqp_message *message, rf_build **build)
{
    rf_build *made = NULL;

    EQP_CHECK(eqp_array_create(&made, 1, sizeof *made));
    made->wanted = wanted;
    made->message = message;
    made->unit = "line";
    made->nranks = RF_NONE;
    *build = made;
    return EQP_OK;
}

void rf_build_free(rf_build *build)
{
    if (build == NULL) {
        return;
    }
    for (int64_t i = 0; i < build->items.n && build->item != NULL; i++) {
        free(build->item[i].name);
    }
    rf_keys_free(&build->items);
    rf_keys_free(&build->phases);
    rf_keys_free(&build->blocks);
    free(build->block_bytes);
    free(build->rank_bytes);
    free(build->item);
    free(build->row);
    free(build->edge);
    free(build->file);
    free(build->repeat);
    free(build);
}

int rf_build_open(rf_build *build, const char *path, const char *unit)
{
    EQP_CHECK(eqp_array_reserve(&build->file, &build->path_room, build->npaths + 1, sizeof *build->file));
    build->file[build->npaths++] = (rf_kept_file){path, RF_NONE};
    build->unit = unit;
    build->number = 0;
    return EQP_OK;
}

int rf_build_nranks(rf_build *build, int64_t nranks)
{
    RF_REFUSE_IF(nranks < 1 || nranks > RF_MOST_RANKS, build, EQP_ERR_DATA, "%lld ranks: not 1 to %d",
                 (long long)nranks, RF_MOST_RANKS);
    RF_REFUSE_IF(build->nranks != RF_NONE && build->nranks != nranks, build, EQP_ERR_DATA,
                 "%lld ranks, where another file says %lld", (long long)nranks, (long long)build->nranks);
    build->nranks = nranks;
    return EQP_OK;
}

int rf_build_timed(rf_build *build, bool timed)
{
    RF_REFUSE_IF(build->nrows > 0 && build->untimed == timed, build, EQP_ERR_DATA,
                 "some loads have a unit of time and some have not");
    build->untimed = !timed;
    return EQP_OK;
}

static void say(const rf_build *b, int64_t file, int64_t number, const char *format, va_list arguments)
{
    char what[400], place[60] = "";

    (void)vsnprintf(what, sizeof what, format, arguments);
    if (number != RF_NONE) {
        (void)snprintf(place, sizeof place, ": %s %lld", b->unit, (long long)number);
    }
    eqp_message_set(b->message, "%.250s%s: %s", b->file[file].path, place, what);
}

int rf_build_refuse_at(const rf_build *build, int64_t file, int64_t number, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(build, file, number, format, arguments);
    va_end(arguments);
    return EQP_ERR_DATA;
}

int rf_build_refuse(const rf_build *build, int code, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(build, build->npaths - 1, build->number, format, arguments);
    va_end(arguments);
    return code;
}

void rf_build_note(rf_build *build, const char *format, ...)
{
    char what[200];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (build->nnotes < 2 && strstr(build->note.text, what) == NULL) {
        eqp_message_set(&build->note, "%s%s%s", build->note.text, build->nnotes > 0 ? "; " : "", what);
        build->nnotes++;
    }
}

static int find_item(rf_build *b, int64_t id, int64_t *index)
{
    const int64_t before = b->items.n;
    int code;

    RF_REFUSE_IF(id < 0, b, EQP_ERR_DATA, "item %lld: numbers begin with 0", (long long)id);
    EQP_TRY(rf_keys_take(&b->items, &id, index));
    if (b->items.n > before) {
        /* On failure the item has no record; nothing more is read then. */
        EQP_TRY(eqp_array_reserve(&b->item, &b->item_room, b->items.room, sizeof *b->item));
        b->item[*index] = (rf_kept_item){.centre_phase = RF_NONE, .bytes = RF_NONE, .needs = {.block = -1}};
    }
done:
    if (code == EQP_ERR_MEMORY && b->items.n > before) {
        b->items.n = before;
    }
    return code;
}

static int check_row(const rf_build *b, const rf_row *row)
{
    RF_REFUSE_IF(!(row->load >= 0 && row->load <= 1e18), b, EQP_ERR_DATA, "load %g: loads are 0 to 1e18", row->load);
    RF_REFUSE_IF(row->phase < 0, b, EQP_ERR_DATA, "phase %lld: phases begin with 0", (long long)row->phase);
    RF_REFUSE_IF(row->rank != RF_NONE && (row->rank < 0 || row->rank >= RF_MOST_RANKS), b, EQP_ERR_DATA,
                 "rank %lld: ranks are 0 to %d", (long long)row->rank, RF_MOST_RANKS - 1);
    RF_REFUSE_IF(row->bytes != RF_NONE && row->bytes < 0, b, EQP_ERR_DATA, "%lld bytes: less than none",
                 (long long)row->bytes);
    RF_REFUSE_IF(b->nrows > 0 && (row->rank != RF_NONE) != b->ranked, b, EQP_ERR_DATA,
                 "some rows have a rank and some have not");
    for (int d = 0; d < 3 && row->placed; d++) {
        RF_REFUSE_IF(!(fabs(row->centre[d]) <= 1e150), b, EQP_ERR_DATA, "%c is %g: positions are finite", "xyz"[d],
                     row -> centre[d]);
    }
    return EQP_OK;
}

static double most(double a, double b)
{
    return a > b ? a : b;
}

/* Records the memory of an item, of its block and of its rank. */
static int take_needs(rf_build *b, const rf_row *row, rf_kept_item *item)
{
    const rf_needs *needs = &row->needs;
    const double bytes[] = {needs->held, needs->working, needs->block_bytes, needs->rank_bytes};
    int64_t block;

    for (size_t k = 0; k < sizeof bytes / sizeof bytes[0]; k++) {
        RF_REFUSE_IF(!(bytes[k] >= 0 && bytes[k] <= 0x1p60), b, EQP_ERR_DATA, "%g bytes of memory: not 0 to 2^60",
                     bytes[k]);
    }
    item->needs.known = b->needy = true;
    item->needs.held = most(item->needs.held, needs->held);
    item->needs.working = most(item->needs.working, needs->working);
    item->needs.block = needs->block;
    if (needs->block >= 0) {
        const int64_t before = b->blocks.n;
        EQP_CHECK(rf_keys_take(&b->blocks, &needs->block, &block));
        EQP_CHECK(eqp_array_reserve(&b->block_bytes, &b->block_room, b->blocks.room, sizeof *b->block_bytes));
        b->block_bytes[block] = most(block < before ? b->block_bytes[block] : 0.0, needs->block_bytes);
        item->needs.block = block;
    }
    if (row->rank != RF_NONE && needs->rank_bytes > 0) {
        const int64_t room = b->rank_room;
        EQP_CHECK(eqp_array_reserve(&b->rank_bytes, &b->rank_room, row->rank + 1, sizeof *b->rank_bytes));
        for (int64_t r = room; r < b->rank_room; r++) {
            b->rank_bytes[r] = 0.0;
        }
        b->rank_bytes[row->rank] = most(b->rank_bytes[row->rank], needs->rank_bytes);
    }
    return EQP_OK;
}

/* Takes positions of the requested phase, by default of the first one. */
static void take_place(const rf_build *b, const rf_row *row, rf_kept_item *item)
{
    const bool first = item->centre_phase == RF_NONE;

    if (row->placed &&
        (first || row->phase == b->wanted || (item->centre_phase != b->wanted && row->phase < item->centre_phase))) {
        memcpy(item->centre, row->centre, sizeof item->centre);
        item->centre_phase = row->phase;
    }
}

int rf_build_row(rf_build *b, const rf_row *row, int64_t *index)
{
    int64_t i, p;

    EQP_CHECK(check_row(b, row));
    EQP_CHECK(find_item(b, row->item, &i));
    EQP_CHECK(rf_keys_take(&b->phases, &row->phase, &p));
    EQP_CHECK(eqp_array_reserve(&b->row, &b->row_room, b->nrows + 1, sizeof *b->row));
    rf_kept_item *item = &b->item[i];
    RF_REFUSE_IF(item->seen && item->fixed != row->fixed, b, EQP_ERR_DATA, "item %lld may move in some rows only",
                 (long long)row->item);
    b->row[b->nrows++] = (rf_kept_row){.item = (int32_t)i,
                                       .phase = (int32_t)p,
                                       .rank = row->rank != RF_NONE ? (int32_t)row->rank : -1,
                                       .load = row->load,
                                       .number = b->number,
                                       .path = (int32_t)(b->npaths - 1)};
    item->seen = true;
    item->fixed = row->fixed;
    item->bytes = row->bytes != RF_NONE ? row->bytes : item->bytes;
    take_place(b, row, item);
    EQP_CHECK(row->needs.known ? take_needs(b, row, item) : EQP_OK);
    b->ranked = row->rank != RF_NONE;
    b->sized = b->sized || row->bytes != RF_NONE;
    b->placed = b->placed || row->placed;
    b->held = b->held || row->fixed;
    if (index != NULL) {
        *index = i;
    }
    return EQP_OK;
}

int rf_build_name(rf_build *build, int64_t index, char *name)
{
    if (build->item[index].name != NULL) {
        free(name);
        return EQP_OK;
    }
    build->item[index].name = name;
    build->named = build->named || name != NULL;
    return name != NULL ? EQP_OK : EQP_ERR_MEMORY;
}

int rf_build_edge(rf_build *b, int64_t from, int64_t to, int64_t bytes, int64_t phase)
{
    int64_t i, k, p = -1;

    RF_REFUSE_IF(bytes != RF_NONE && (bytes < 0 || bytes > INT64_C(1) << 50), b, EQP_ERR_DATA,
                 "%lld bytes: not 0 to 2^50", (long long)bytes);
    EQP_CHECK(find_item(b, from, &i));
    EQP_CHECK(find_item(b, to, &k));
    if (phase != RF_NONE) {
        RF_REFUSE_IF(phase < 0, b, EQP_ERR_DATA, "phase %lld: phases begin with 0", (long long)phase);
        EQP_CHECK(rf_keys_take(&b->phases, &phase, &p));
    }
    EQP_CHECK(eqp_array_reserve(&b->edge, &b->edge_room, b->nedges + 1, sizeof *b->edge));
    b->edge[b->nedges++] = (rf_kept_edge){.from = (int32_t)i,
                                          .to = (int32_t)k,
                                          .phase = (int32_t)p,
                                          .bytes = bytes != RF_NONE ? bytes : -1,
                                          .number = b->number,
                                          .path = (int32_t)(b->npaths - 1)};
    return EQP_OK;
}

int rf_build_repeat(rf_build *b, int64_t first, int64_t last, int64_t row, int64_t end)
{
    const rf_kept_repeat *newest = b->nrepeats > 0 ? &b->repeat[b->nrepeats - 1] : NULL;
    const bool named = newest != NULL && newest->first == first && newest->last == last;
    int64_t p;

    for (int64_t phase = first; phase <= last && !named; phase++) { /* else the previous file has named them */
        EQP_CHECK(rf_keys_take(&b->phases, &phase, &p));
    }
    EQP_CHECK(eqp_array_reserve(&b->repeat, &b->repeat_room, b->nrepeats + 1, sizeof *b->repeat));
    b->repeat[b->nrepeats++] = (rf_kept_repeat){first, last, row, end};
    return EQP_OK;
}
