/* SPDX-License-Identifier: BSD-3-Clause */
/* Reader of Charm++'s +LBDump files (versions 7 and 8): statistics of one load balancing step, packed field by field in
 * native layout. The file states its machine's sizes and byte order, and a version, but not if objects have user data.
 * So both layouts are tried: the right one ends at the end of the file. */
#include "build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 16, NEWEST = 3, USER_DATA = 3 };
static const unsigned char magic[4] = {0x10, 0xea, 0xbd, 0xf9};

/* Kinds of receivers. */
enum { TO_PROCESSOR = 1, TO_OBJECT, TO_OBJECTS };

typedef struct dump {
    const unsigned char *at, *end;
    bool little, user_data;
    int word; /* bytes of a count */
    bool broken;
    /* contents */
    int64_t nprocs, nobjects, nmessages;
    const unsigned char *procs, *objects, *from, *messages;
} dump;

/* Identifies an object in messages. */
typedef struct key {
    int64_t manager;
    uint64_t id;
} key;

static uint64_t take(dump *d, int bytes)
{
    uint64_t word = 0;

    if (d->end - d->at < bytes) {
        d->broken = true;
        return 0;
    }
    for (int i = 0; i < bytes; i++) {
        word = word << 8 | d->at[d->little ? bytes - 1 - i : i];
    }
    d->at += bytes;
    return word;
}

static int64_t take_int(dump *d)
{
    return (int32_t)(uint32_t)take(d, 4);
}

static double take_real(dump *d)
{
    const uint64_t word = take(d, 8);
    double value;

    memcpy(&value, &word, sizeof value);
    return value;
}

static void skip(dump *d, uint64_t bytes)
{
    if ((uint64_t)(d->end - d->at) < bytes) {
        d->broken = true;
        d->at = d->end;
    } else {
        d->at += bytes;
    }
}

/* Length of a list; each entry has at least `bytes` bytes. */
static int64_t take_count(dump *d, int least)
{
    const uint64_t count = take(d, d->word);

    if (count > (uint64_t)(d->end - d->at) / (uint64_t)least) {
        d->broken = true;
        return 0;
    }
    return (int64_t)count;
}

typedef struct processor {
    double background;
    int64_t pe;
} processor;

static processor take_processor(dump *d)
{
    processor p;

    skip(d, 16); /* total, idle */
    p.background = take_real(d);
    skip(d, 8 + 1 + 4); /* speed, available, objects */
    p.pe = take_int(d);
    return p;
}

typedef struct object {
    int64_t manager;
    uint64_t id;
    double load;
    bool moves;
} object;

static object take_object(dump *d)
{
    object o;

    o.manager = take_int(d);
    skip(d, 4);
    o.id = take(d, 8);
    skip(d, 4);
    o.load = take_real(d);
    o.moves = take(d, 1) != 0;
    skip(d, 1);
    if (d->user_data) {
        skip(d, (uint64_t)take_count(d, 1));
    }
    skip(d, 2);
    return o;
}

typedef struct sending {
    int64_t source_pe; /* -1: an object */
    key sender;
    int type;
    int64_t nreceivers, bytes;
    const unsigned char *receivers;
} sending;

static key take_key(dump *d)
{
    key k;

    k.manager = take_int(d);
    k.id = take(d, 8);
    return k;
}

static sending take_message(dump *d)
{
    sending m = {.nreceivers = 1};

    m.source_pe = take_int(d);
    m.sender = take_key(d);
    m.type = (int)take(d, 1);
    m.receivers = d->at;
    switch (m.type) {
    case TO_PROCESSOR:
        skip(d, 4);
        break;
    case TO_OBJECT:
        skip(d, 12 + 4);
        break;
    case TO_OBJECTS:
        m.nreceivers = take_int(d);
        m.receivers = d->at;
        d->broken = d->broken || m.nreceivers < 0;
        skip(d, m.nreceivers > 0 ? 12 * (uint64_t)m.nreceivers : 0);
        break;
    default:
        d->broken = true;
    }
    skip(d, 4); /* messages */
    m.bytes = take_int(d);
    d->broken = d->broken || m.bytes < 0;
    return m;
}

/* True if the file ends where this layout ends. */
static bool fits(dump *d)
{
    skip(d, 4); /* movable objects */
    d->nprocs = take_count(d, 41);
    d->procs = d->at;
    for (int64_t p = 0; p < d->nprocs && !d->broken; p++) {
        const processor one = take_processor(d);
        d->broken = d->broken || one.pe < 0 || !(one.background <= 1e300 && one.background >= -1e300);
    }
    d->nobjects = take_count(d, 32);
    d->objects = d->at;
    for (int64_t o = 0; o < d->nobjects && !d->broken; o++) {
        (void)take_object(d);
    }
    d->broken = d->broken || take_count(d, 4) != d->nobjects;
    d->from = d->at;
    skip(d, 4 * (uint64_t)d->nobjects);
    d->nmessages = take_count(d, 29);
    d->messages = d->at;
    for (int64_t m = 0; m < d->nmessages && !d->broken; m++) {
        (void)take_message(d);
    }
    return !d->broken && d->at == d->end;
}

/* Identity of an item over all dumps: an object, or the background work of a processor (manager -1). */
static void words_of(int64_t manager, uint64_t id, int64_t word[RF_KEY_WORDS])
{
    word[0] = manager;
    word[1] = (int64_t)id;
    word[2] = word[3] = 0;
}

static int name(rf_build *build, int64_t index, int64_t manager, uint64_t id)
{
    char text[80];

    if (build->item[index].name != NULL) {
        return EQP_OK;
    }
    if (manager >= 0) {
        (void)snprintf(text, sizeof text, "object %llu of array %lld", (unsigned long long)id, (long long)manager);
    } else {
        (void)snprintf(text, sizeof text, "processor %llu", (unsigned long long)id);
    }
    return rf_build_name(build, index, strdup(text));
}

static int add(rf_build *build, rf_keys *known, int64_t manager, uint64_t id, rf_row *row)
{
    int64_t word[RF_KEY_WORDS], index;

    words_of(manager, id, word);
    EQP_CHECK(rf_keys_take(known, word, &row->item));
    EQP_CHECK(rf_build_row(build, row, &index));
    return name(build, index, manager, id);
}

static int read_objects(rf_build *build, dump *d, int64_t phase, rf_keys *known)
{
    dump from = {.at = d->from, .end = d->end, .little = d->little};

    d->at = d->objects;
    for (int64_t i = 0; i < d->nobjects; i++) {
        const object o = take_object(d);
        rf_row row = {.phase = phase, .load = o.load, .bytes = RF_NONE, .fixed = !o.moves};
        build->number = i;
        row.rank = take_int(&from);
        EQP_CHECK(add(build, known, o.manager, o.id, &row));
    }
    return EQP_OK;
}

/* Background work of processors cannot move. */
static int read_background(rf_build *build, dump *d, int64_t phase, rf_keys *known)
{
    d->at = d->procs;
    for (int64_t p = 0; p < d->nprocs; p++) {
        const processor one = take_processor(d);
        rf_row row = {.phase = phase,
                      .load = fmax(one.background, 0.0), /* a difference of times */
                      .rank = one.pe,
                      .bytes = RF_NONE,
                      .fixed = true};
        build->number = p;
        EQP_CHECK(add(build, known, -1, (uint64_t)one.pe, &row));
    }
    return EQP_OK;
}

/* Item of an object; -1: unknown. */
static int64_t find(const rf_keys *known, key k)
{
    int64_t word[RF_KEY_WORDS];

    words_of(k.manager, k.id, word);
    return k.manager >= 0 ? rf_keys_find(known, word) : -1;
}

static int read_messages(rf_build *build, dump *d, int64_t phase, const rf_keys *known)
{
    d->at = d->messages;
    for (int64_t i = 0; i < d->nmessages; i++) {
        const sending m = take_message(d);
        const int64_t sender = m.source_pe < 0 && m.type != TO_PROCESSOR ? find(known, m.sender) : -1;
        dump to = {.at = m.receivers, .end = d->end, .little = d->little};
        build->number = i;
        for (int64_t k = 0; k < m.nreceivers; k++) {
            const int64_t receiver = sender >= 0 ? find(known, take_key(&to)) : -1;
            if (receiver < 0) {
                build->left_out++;
            } else {
                EQP_CHECK(rf_build_edge(build, sender, receiver, m.bytes, phase));
            }
        }
    }
    return EQP_OK;
}

static int refuse_layout(const rf_build *build, const char *why)
{
    (void)rf_build_refuse_at(build, build->npaths - 1, RF_NONE, "a dump of Charm++ (+LBDump), %s", why);
    return EQP_ERR_FORMAT;
}

static int read_bytes(rf_build *build, const unsigned char *bytes, int64_t size, int64_t phase, rf_keys *known)
{
    const bool old = bytes[4] == 0; /* version of the head */
    const unsigned char *rest = bytes + (old ? 9 : 10);
    dump d = {.at = bytes + HEAD, .end = bytes + size, .little = rest[0] == 1, .word = rest[5]};
    int64_t version;

    if (bytes[4] > 1 || bytes[6] != 2 || bytes[7] != 4 || (d.word != 4 && d.word != 8) || rest[0] > 1 || rest[2] != 8 ||
        rest[3] != rest[0] || rest[4] != 1) {
        return refuse_layout(build, "of a machine with strange numbers");
    }
    version = take_int(&d);
    if (version < 2 || version > NEWEST) {
        return refuse_layout(build, "but none of format version 2 or 3");
    }
    skip(&d, 4); /* processors, once more */
    dump plain = d;
    if (!fits(&plain)) {
        d.user_data = version >= USER_DATA;
        plain = d;
        if (!d.user_data || !fits(&plain)) {
            return refuse_layout(build, "but damaged, or in none of the layouts of Charm++ 7 and 8");
        }
    }
    d = plain;
    EQP_CHECK(read_objects(build, &d, phase, known));
    EQP_CHECK(read_background(build, &d, phase, known));
    return read_messages(build, &d, phase, known);
}

int rf_read_charm(rf_build *build, const char *path, int64_t phase, rf_keys *known)
{
    RF_FREED char *bytes = NULL;
    int64_t size = 0;

    EQP_CHECK(rf_build_open(build, path, "entry"));
    EQP_CHECK(rf_read_bytes(path, &bytes, &size, build->message));
    if (size < HEAD || memcmp(bytes, magic, sizeof magic) != 0) {
        EQP_CHECK(refuse_layout(build, "cut off in its head"));
    }
    return read_bytes(build, (const unsigned char *)bytes, size, phase, known);
}
