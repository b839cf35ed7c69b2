/* SPDX-License-Identifier: BSD-3-Clause */
/* GADGET format 1 and 2: every variant of the format gives the same particles, every slice those of the whole, and no
 * damage passes. */
#include "snapshot_files.h"

#include <math.h>

enum { TYPES = 6 };

typedef struct spec {
    int format;
    bool big;
    int real, id; /* bytes; id 0: no such block (format 2 only) */
    int64_t n[TYPES];
    double mass[TYPES];
    int64_t total[TYPES];
    int nfiles;
    double time, redshift, omega0;
    int64_t first; /* place of its first particle in the global order */
    bool energy;   /* a further block at the end */
    int own_types;
    int own;      /* GADGET-4's own header: 1 to 4; else 0 */
    bool at_rest; /* without velocities */
    bool both;    /* masses of all particles in the block, those of the header too */
} spec;

static const spec mixed = {.format = 1,
                           .real = 4,
                           .id = 4,
                           .n = {3, 4, 0, 2, 1, 0},
                           .mass = {0, 2.5, 0, 0, 8, 0},
                           .total = {3, 4, 0, 2, 1, 0},
                           .nfiles = 1};

static void put_record(bytes *to, const spec *s, const char *label, const bytes *payload)
{
    if (s->format == 2) {
        put_word(to, 8, 4, s->big);
        put_bytes(to, label, 4);
        put_word(to, payload->n + 8, 4, s->big);
        put_word(to, 8, 4, s->big);
    }
    put_word(to, payload->n, 4, s->big);
    put_bytes(to, payload->p, payload->n);
    put_word(to, payload->n, 4, s->big);
    free(payload->p);
}

/* Counts of 64 or 32 bits, without or with the numbers of merger trees. */
static bytes own_header_of(const spec *s)
{
    bytes b = {0};

    for (int t = 0; t < s->own_types; t++) {
        put_word(&b, (uint64_t)(t < TYPES ? s->n[t] : 0), s->own <= 2 ? 8 : 4, s->big);
    }
    while (b.n % 8 != 0) {
        put_word(&b, 0xabababab, 4, s->big);
    }
    for (int t = 0; t < s->own_types; t++) {
        put_word(&b, (uint64_t)(t < TYPES ? s->total[t] : 0), 8, s->big);
    }
    for (int t = 0; t < s->own_types; t++) {
        put_real(&b, t < TYPES ? s->mass[t] : 0, 8, s->big);
    }
    put_real(&b, s->time, 8, s->big);
    put_real(&b, s->redshift, 8, s->big);
    put_real(&b, 50, 8, s->big);
    put_word(&b, (uint64_t)s->nfiles, 4, s->big);
    put_word(&b, 0xabababab, 4, s->big);
    for (int k = 0; k < (s->own % 2 ? 0 : 2); k++) {
        put_word(&b, 0, 8, s->big);
    }
    return b;
}

static bytes header_of(const spec *s)
{
    bytes b = {0};

    if (s->own > 0) {
        return own_header_of(s);
    }
    for (int t = 0; t < TYPES; t++) {
        put_word(&b, (uint64_t)s->n[t], 4, s->big);
    }
    for (int t = 0; t < TYPES; t++) {
        put_real(&b, s->mass[t], 8, s->big);
    }
    put_real(&b, s->time, 8, s->big);
    put_real(&b, s->redshift, 8, s->big);
    put_word(&b, 0, 8, s->big);
    for (int t = 0; t < TYPES; t++) {
        put_word(&b, (uint64_t)s->total[t], 4, s->big);
    }
    put_word(&b, 0, 4, s->big);
    put_word(&b, (uint64_t)s->nfiles, 4, s->big);
    put_real(&b, 50, 8, s->big);
    put_real(&b, s->omega0, 8, s->big);
    put_real(&b, 0.7, 8, s->big);
    put_real(&b, 0.6, 8, s->big);
    while (b.n < 256) {
        put_word(&b, 0xab, 1, s->big); /* what old codes leave there is junk */
    }
    return b;
}

static int64_t count_of(const spec *s)
{
    int64_t n = 0;

    for (int t = 0; t < TYPES; t++) {
        n += s->n[t];
    }
    return n;
}

static bytes vectors_of(const spec *s, int column)
{
    bytes b = {0};

    for (int64_t i = 0; i < count_of(s); i++) {
        for (int c = 0; c < 3; c++) {
            put_real(&b, model(column + c, s->first + i), s->real, s->big);
        }
    }
    return b;
}

static bytes masses_of(const spec *s)
{
    bytes b = {0};
    int64_t i = s->first;

    for (int t = 0; t < TYPES; t++) {
        for (int64_t j = 0; j < s->n[t]; j++, i++) {
            if (s->mass[t] == 0 || s->both) {
                put_real(&b, model(0, i), s->real, s->big);
            }
        }
    }
    return b;
}

static bytes file_of(const spec *s)
{
    bytes file = {0}, block = header_of(s);

    put_record(&file, s, "HEAD", &block);
    block = vectors_of(s, 1);
    put_record(&file, s, "POS ", &block);
    if (!s->at_rest) {
        block = vectors_of(s, 4);
        put_record(&file, s, "VEL ", &block);
    }
    if (s->id) {
        block = (bytes){0};
        for (int64_t i = 0; i < count_of(s); i++) {
            put_word(&block, (uint64_t)model_id(s->first + i, s->id == 8), s->id, s->big);
        }
        put_record(&file, s, "ID  ", &block);
    }
    block = masses_of(s);
    if (block.n > 0) {
        put_record(&file, s, "MASS", &block);
    }
    if (s->energy) {
        block = vectors_of(s, 1);
        put_record(&file, s, "U   ", &block);
    }
    return file;
}

static void save_spec(const char *path, const spec *s)
{
    bytes file = file_of(s);

    save(path, &file);
    free(file.p);
}

static void every_variant_gives_the_same_particles(void **state)
{
    (void)state;
    for (int variant = 0; variant < 32; variant++) {
        spec s = mixed;
        particles whole;
        eqp_snapshot *opened;
        char name[32];

        s.format = variant & 1 ? 2 : 1;
        s.big = variant & 2;
        s.real = variant & 4 ? 8 : 4;
        s.id = variant & 8 ? 8 : 4;
        s.energy = variant & 16;
        save_spec(in_folder("a"), &s);
        whole = model_particles(1, TYPES, s.n, s.mass, 1, s.id == 8);
        check_slices(in_folder("a"), &whole);
        opened = open_good(in_folder("a"));
        snprintf(name, sizeof name, "GADGET format %d", s.format);
        assert_string_equal(eqp_snapshot_get_info(opened)->format, name);
        assert_true(eqp_snapshot_get_info(opened)->has_ids);
        assert_memory_equal(eqp_snapshot_get_info(opened)->type_n, s.n, sizeof s.n);
        eqp_snapshot_close(opened);
        particles_free(&whole);
    }
}

static void headers_of_gadget_4_give_the_same_particles(void **state)
{
    (void)state;
    for (int variant = 0; variant < 48; variant++) {
        spec s = mixed;
        particles whole;
        eqp_snapshot *opened;

        s.own = 1 + variant % 4;
        s.own_types = variant < 16 ? TYPES : variant < 32 ? TYPES - 1 : TYPES + 2; /* the last one has no particles */
        s.format = variant & 4 ? 2 : 1;
        s.big = variant & 8;
        save_spec(in_folder("a"), &s);
        whole = model_particles(1, TYPES, s.n, s.mass, 1, false);
        check_slices(in_folder("a"), &whole);
        opened = open_good(in_folder("a"));
        assert_true(eqp_snapshot_get_info(opened)->box_size == 50);
        assert_int_equal(eqp_snapshot_get_info(opened)->ntypes, s.own_types);
        eqp_snapshot_close(opened);
        if (variant < 2) {
            bytes file = file_of(&s);

            refuse_truncations(in_folder("a"), 7);
            save_packed(in_folder("a"), file.p, file.n);
            check_slices(in_folder("a"), &whole);
            free(file.p);
        }
        particles_free(&whole);
    }
}

/* What the header says of a type counts, whether the block holds all particles or only those without. */
static void masses_of_the_header_come_before_those_of_the_block(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        spec s = mixed;
        particles whole;
        eqp_snapshot *opened;

        s.format = 2;
        s.both = true;
        for (int t = 0; t < TYPES && k; t++) {
            s.mass[t] = 3;
        }
        save_spec(in_folder("a"), &s);
        whole = model_particles(1, TYPES, s.n, s.mass, 1, false);
        check_slices(in_folder("a"), &whole);
        opened = open_good(in_folder("a"));
        assert_non_null(strstr(eqp_snapshot_get_info(opened)->note.text, "block MASS"));
        eqp_snapshot_close(opened);
        particles_free(&whole);
    }
}

static void all_masses_may_stand_in_the_header_or_none(void **state)
{
    static const double table[2][TYPES] = {{1, 2, 0, 4, 5, 0}, {0}};

    (void)state;
    for (int k = 0; k < 2; k++) {
        spec s = mixed;
        particles whole;

        memcpy(s.mass, table[k], sizeof s.mass);
        save_spec(in_folder("a"), &s);
        whole = model_particles(1, TYPES, s.n, s.mass, 1, false);
        check_slices(in_folder("a"), &whole);
        particles_free(&whole);
    }
}

static void ids_that_are_not_there_follow_the_order(void **state)
{
    spec s = mixed;
    particles whole = model_particles(1, TYPES, s.n, s.mass, 0, false);
    eqp_snapshot *opened;

    (void)state;
    s.format = 2;
    s.id = 0;
    save_spec(in_folder("a"), &s);
    check_slices(in_folder("a"), &whole);
    opened = open_good(in_folder("a"));
    assert_false(eqp_snapshot_get_info(opened)->has_ids);
    eqp_snapshot_close(opened);
    particles_free(&whole);
    s.at_rest = true;
    save_spec(in_folder("a"), &s);
    refuse_open(in_folder("a"), EQP_ERR_FORMAT, "before the block VEL");
    s.id = 4;
    save_spec(in_folder("a"), &s);
    opened = open_good(in_folder("a"));
    assert_false(eqp_snapshot_get_info(opened)->has_velocities);
    eqp_snapshot_close(opened);
    s.at_rest = false;
    s.id = 0;
    s.format = 1;
    save_spec(in_folder("b"), &s);
    refuse_open(in_folder("b"), EQP_ERR_FORMAT, "");
}

static void save_set(const char *pattern, int nfiles, const int64_t (*n)[TYPES], spec s)
{
    s.nfiles = nfiles;
    memset(s.total, 0, sizeof s.total);
    for (int k = 0; k < nfiles; k++) {
        for (int t = 0; t < TYPES; t++) {
            s.total[t] += n[k][t];
        }
    }
    s.first = 0;
    for (int k = 0; k < nfiles; k++) {
        char name[64];

        memcpy(s.n, n[k], sizeof s.n);
        snprintf(name, sizeof name, pattern, k);
        save_spec(in_folder(name), &s);
        s.first += count_of(&s);
    }
}

static const int64_t three[3][TYPES] = {{2, 3, 0, 0, 1, 0}, {0, 0, 0, 0, 0, 0}, {1, 1, 0, 2, 0, 0}};

static void several_files_are_one_snapshot(void **state)
{
    static const char *const given[] = {"snap_007.0", "snap_007.2", "snap_007"};
    particles whole = model_particles(3, TYPES, three[0], mixed.mass, 1, false);

    (void)state;
    save_set("snap_007.%d", 3, three, mixed);
    for (int k = 0; k < 3; k++) {
        eqp_snapshot *s;

        check_slices(in_folder(given[k]), &whole);
        s = open_good(in_folder(given[k]));
        assert_int_equal(eqp_snapshot_get_info(s)->nfiles, 3);
        assert_true(eqp_snapshot_get_info(s)->bytes > 3 * 256);
        assert_int_equal(eqp_snapshot_get_info(s)->type_n[1], 4);
        eqp_snapshot_close(s);
    }
    particles_free(&whole);
}

static void a_set_that_does_not_fit_together_is_refused(void **state)
{
    spec s = mixed;

    (void)state;
    save_set("a.%d", 3, three, mixed);
    unlink(in_folder("a.1"));
    refuse_open(in_folder("a.2"), EQP_ERR_IO, "a.1");
    save_set("b.%d", 3, three, mixed);
    s.nfiles = 3;
    memcpy(s.n, three[1], sizeof s.n);
    s.total[1]++;
    save_spec(in_folder("b.1"), &s);
    refuse_open(in_folder("b.0"), EQP_ERR_FORMAT, "disagrees");
    s = mixed;
    s.nfiles = 2;
    save_spec(in_folder("nonumber"), &s);
    refuse_open(in_folder("nonumber"), EQP_ERR_FORMAT, "no file number");
    save_spec(in_folder("c.5"), &s);
    refuse_open(in_folder("c.5"), EQP_ERR_FORMAT, "number 5");
    s.nfiles = INT32_MAX;
    save_spec(in_folder("d.0"), &s);
    refuse_open(in_folder("d.0"), EQP_ERR_IO, "d.1");
}

static void truncation_anywhere_is_refused(void **state)
{
    (void)state;
    for (int format = 1; format <= 2; format++) {
        spec s = mixed;

        s.format = format;
        s.big = format == 2;
        save_spec(in_folder("a"), &s);
        refuse_truncations(in_folder("a"), 1);
    }
}

static void damaged_records_are_refused(void **state)
{
    bytes file = file_of(&mixed);

    (void)state;
    /* The length after the header, after the positions, before the velocities. */
    for (int k = 0; k < 3; k++) {
        size_t at = k == 0 ? 260 : k == 1 ? 264 + 4 + 120 : 264 + 128;

        file.p[at] ^= 0x10;
        save(in_folder("a"), &file);
        refuse_open(in_folder("a"), EQP_ERR_FORMAT, "");
        file.p[at] ^= 0x10;
    }
    save(in_folder("a"), &file);
    eqp_snapshot_close(open_good(in_folder("a")));
    free(file.p);
}

static void counts_that_lie_are_refused(void **state)
{
    static const int64_t lie[] = {2, 4, INT32_MAX, (int64_t)1 << 31, UINT32_MAX};

    (void)state;
    for (int k = 0; k < 5; k++) {
        spec s = mixed;
        bytes file = file_of(&s), header;

        s.n[1] = lie[k] == 4 ? 5 : lie[k];
        s.total[1] = s.n[1];
        header = header_of(&s);
        memcpy(file.p + 4, header.p, 256);
        save(in_folder("a"), &file);
        refuse_open(in_folder("a"), EQP_ERR_FORMAT, "POS");
        /* The same lie in all six types. */
        for (int t = 0; t < TYPES; t++) {
            s.n[t] = s.n[1];
        }
        free(header.p);
        header = header_of(&s);
        memcpy(file.p + 4, header.p, 256);
        save(in_folder("a"), &file);
        refuse_open(in_folder("a"), EQP_ERR_FORMAT, "POS");
        free(header.p);
        free(file.p);
    }
}

static void totals_are_checked_if_they_are_given(void **state)
{
    spec s = mixed;

    (void)state;
    s.total[1] = 77;
    save_spec(in_folder("a"), &s);
    refuse_open(in_folder("a"), EQP_ERR_FORMAT, "77");
    memset(s.total, 0, sizeof s.total);
    s.nfiles = 0;
    save_spec(in_folder("a"), &s);
    eqp_snapshot_close(open_good(in_folder("a")));
}

static void no_particles_is_an_error(void **state)
{
    spec s = mixed;

    (void)state;
    memset(s.n, 0, sizeof s.n);
    memset(s.total, 0, sizeof s.total);
    save_spec(in_folder("a"), &s);
    refuse_open(in_folder("a"), EQP_ERR_FORMAT, "no particles");
}

/* Offset of the first number of a block in a file of `mixed`, whose 10 particles have 4 bytes per number. */
enum { POS = 268, VEL = POS + 128, ID = VEL + 128, MASS = ID + 48 };

static void values_that_cannot_be_used_are_named(void **state)
{
    static const struct {
        size_t at;
        float value;
        const char *what;
    } bad[] = {{POS + 12 * 4, NAN, "particle 4: x is not a number"},
               {POS + 12 * 9 + 8, -INFINITY, "particle 9: z is infinite"},
               {VEL + 4, INFINITY, "particle 0: vy is infinite"},
               {VEL + 12 * 7 + 8, NAN, "particle 7: vz is not a number"},
               {MASS + 4 * 2, NAN, "particle 2: mass is not a number"},
               {MASS + 4 * 3, -1, "particle 7: mass is negative"}};

    (void)state;
    for (int k = 0; k < 6; k++) {
        bytes file = file_of(&mixed), number = {0};

        put_real(&number, (double)bad[k].value, 4, false);
        memcpy(file.p + bad[k].at, number.p, 4);
        save(in_folder("a"), &file);
        refuse_read(in_folder("a"), EQP_ERR_DATA, bad[k].what);
        free(number.p);
        free(file.p);
    }
}

static void a_slice_beside_a_bad_value_is_good(void **state)
{
    bytes file = file_of(&mixed), number = {0};
    particles p = particles_new(4);
    eqp_snapshot_arrays arrays = particles_arrays(&p);
    eqp_snapshot *s;

    (void)state;
    put_real(&number, (double)NAN, 4, false);
    memcpy(file.p + POS + 12 * 4, number.p, 4);
    save(in_folder("a"), &file);
    s = open_good(in_folder("a"));
    read_good(s, 0, &p);
    read_good(s, 5, &p);
    assert_int_equal(eqp_snapshot_read(s, 1, 4, &arrays, NULL), EQP_ERR_DATA);
    arrays.x = NULL;
    assert_int_equal(eqp_snapshot_read(s, 1, 4, &arrays, NULL), EQP_OK);
    eqp_snapshot_close(s);
    particles_free(&p);
    free(number.p);
    free(file.p);
}

static void a_header_with_impossible_numbers_is_refused(void **state)
{
    spec s = mixed;

    (void)state;
    s.time = (double)NAN;
    save_spec(in_folder("a"), &s);
    refuse_open(in_folder("a"), EQP_ERR_FORMAT, "time");
    s = mixed;
    s.mass[1] = -1;
    save_spec(in_folder("a"), &s);
    refuse_open(in_folder("a"), EQP_ERR_DATA, "mass");
    s = mixed;
    s.nfiles = -1;
    save_spec(in_folder("a"), &s);
    refuse_open(in_folder("a"), EQP_ERR_FORMAT, "files");
}

static void velocities_of_cosmological_files_are_peculiar(void **state)
{
    static const struct {
        double time, redshift, omega0, factor;
    } c[] = {{0.25, 3, 0.3, 0.5}, {0.25, 3, 0, 0.5}, {0.25, 0, 0.3, 1}, {1, 0, 0.3, 1}, {2, 0, 0, 1}, {0, 0, 0.3, 1}};

    (void)state;
    for (int k = 0; k < 6; k++) {
        spec s = mixed;
        particles p = particles_new(10);
        eqp_snapshot *opened;

        s.time = c[k].time;
        s.redshift = c[k].redshift;
        s.omega0 = c[k].omega0;
        save_spec(in_folder("a"), &s);
        opened = open_good(in_folder("a"));
        read_good(opened, 0, &p);
        for (int64_t i = 0; i < p.n; i++) {
            assert_true(p.column[5][i] == model(5, i) * c[k].factor);
            assert_true(p.column[2][i] == model(2, i));
        }
        assert_int_equal(eqp_snapshot_get_info(opened)->cosmological, k < 2 || k == 3);
        assert_true(eqp_snapshot_get_info(opened)->time == s.time);
        assert_true(eqp_snapshot_get_info(opened)->box_size == 50);
        assert_true(eqp_snapshot_get_info(opened)->hubble == 0.6);
        eqp_snapshot_close(opened);
        particles_free(&p);
    }
}

static void more_particles_than_a_buffer_holds(void **state)
{
    static const int64_t cut[] = {0, 1, 16383, 16384, 16385, 30000, 40000, 40001};
    spec s = mixed;
    particles whole;
    eqp_snapshot *opened;

    (void)state;
    memcpy(s.n, (int64_t[]){20000, 0, 20001, 0, 0, 0}, sizeof s.n);
    memcpy(s.total, s.n, sizeof s.n);
    save_spec(in_folder("a"), &s);
    whole = model_particles(1, TYPES, s.n, s.mass, 1, false);
    opened = open_good(in_folder("a"));
    for (int k = 0; k < 7; k++) {
        particles p = particles_new(cut[k + 1] - cut[k]);

        read_good(opened, cut[k], &p);
        for (int c = 0; c < 7; c++) {
            assert_memory_equal(p.column[c], whole.column[c] + cut[k], (size_t)p.n * sizeof(double));
        }
        assert_memory_equal(p.id, whole.id + cut[k], (size_t)p.n * sizeof *p.id);
        particles_free(&p);
    }
    eqp_snapshot_close(opened);
    particles_free(&whole);
}

static void put_at(FILE *file, off_t at, uint64_t value, int width)
{
    bytes b = {0};

    put_word(&b, value, width, false);
    assert_int_equal(fseeko(file, at, SEEK_SET), 0);
    assert_int_equal(fwrite(b.p, 1, b.n, file), b.n);
    free(b.p);
}

/* The lengths of such records do not fit into their 32 bits. The file is all holes and takes no room on the disk. */
static void records_beyond_4_gigabytes_are_found(void **state)
{
    const int64_t n = 360000000, lengths[] = {12 * n, 12 * n, 4 * n};
    spec s = {.n = {0, n}, .mass = {0, 1}, .total = {0, n}, .nfiles = 1};
    bytes header = header_of(&s), head = {0};
    FILE *file = fopen(in_folder("a"), "wb");
    off_t at = 264;
    particles p = particles_new(1);
    eqp_snapshot *opened;

    (void)state;
    assert_non_null(file);
    s.format = 1;
    put_record(&head, &s, "HEAD", &header);
    assert_int_equal(fwrite(head.p, 1, head.n, file), head.n);
    free(head.p);
    if (fflush(file) != 0 || ftruncate(fileno(file), at + 28 * n + 24) != 0) {
        fclose(file);
        particles_free(&p);
        print_message("no files with holes of this size here\n");
        skip();
    }
    for (int block = 0; block < 3; block++) {
        put_at(file, at, (uint64_t)lengths[block] & UINT32_MAX, 4);
        at += 4 + lengths[block];
        put_at(file, at - 4, block == 0 ? 0x40400000 : 7, 4);
        put_at(file, at, (uint64_t)lengths[block] & UINT32_MAX, 4);
        at += 4;
    }
    assert_int_equal(fclose(file), 0);
    opened = open_good(in_folder("a"));
    assert_int_equal(eqp_snapshot_get_info(opened)->n, n);
    read_good(opened, n - 1, &p);
    assert_true(p.column[3][0] == 3);
    assert_true(p.column[2][0] == 0);
    assert_int_equal(p.id[0], 7);
    eqp_snapshot_close(opened);
    particles_free(&p);
}

static void a_file_that_shrinks_after_opening_is_an_error(void **state)
{
    particles p = particles_new(10);
    eqp_snapshot_arrays arrays = particles_arrays(&p);
    eqp_snapshot *s;

    (void)state;
    save_spec(in_folder("a"), &mixed);
    s = open_good(in_folder("a"));
    for (off_t length = MASS; length >= 0; length -= 13) {
        eqp_message message = {""};

        assert_int_equal(truncate(in_folder("a"), length), 0);
        assert_int_equal(eqp_snapshot_read(s, 0, 10, &arrays, &message), EQP_ERR_FORMAT);
        assert_non_null(strstr(message.text, "a: truncated: ends at byte"));
    }
    unlink(in_folder("a"));
    assert_int_equal(eqp_snapshot_read(s, 0, 10, &arrays, NULL), EQP_ERR_IO);
    eqp_snapshot_close(s);
    particles_free(&p);
}

static void millions_of_empty_blocks_are_refused(void **state)
{
    bytes file = file_of(&mixed);

    (void)state;
    for (int i = 0; i < 5000; i++) {
        put_word(&file, 0, 8, false);
    }
    save(in_folder("a"), &file);
    refuse_open(in_folder("a"), EQP_ERR_FORMAT, "more than 4096 blocks");
    free(file.p);
}

/* Ids are names only, and floats reach further than their squares. */
static void equal_ids_and_large_numbers_are_read_as_they_stand(void **state)
{
    bytes file = file_of(&mixed), number = {0};
    particles p = particles_new(10);
    eqp_snapshot *s;

    (void)state;
    for (int i = 0; i < 10; i++) {
        memcpy(file.p + ID + 4 * i, "\7\0\0", 4);
    }
    put_real(&number, 1e18, 4, false);
    put_real(&number, -3e38, 4, false);
    memcpy(file.p + POS + 12 * 9 + 4, number.p, 8);
    save(in_folder("a"), &file);
    s = open_good(in_folder("a"));
    read_good(s, 0, &p);
    assert_true(p.column[2][9] == (double)1e18f && p.column[3][9] == (double)-3e38f);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(p.id[i], 7);
    }
    eqp_snapshot_close(s);
    particles_free(&p);
    free(number.p);
    free(file.p);
}

static void ranges_outside_the_snapshot_are_refused(void **state)
{
    static const int64_t bad[][2] = {{-1, 1}, {0, 11}, {10, 1}, {11, 0}, {5, -1}, {1, INT64_MAX}, {INT64_MAX, 1}};
    eqp_snapshot_arrays none = {0};
    eqp_snapshot *s;

    (void)state;
    save_spec(in_folder("a"), &mixed);
    s = open_good(in_folder("a"));
    for (int k = 0; k < 7; k++) {
        assert_int_equal(eqp_snapshot_read(s, bad[k][0], bad[k][1], &none, NULL), EQP_ERR_ARGUMENT);
    }
    assert_int_equal(eqp_snapshot_read(s, 10, 0, &none, NULL), EQP_OK);
    assert_int_equal(eqp_snapshot_read(s, 0, 10, &none, NULL), EQP_OK);
    assert_int_equal(eqp_snapshot_read(s, 0, 10, NULL, NULL), EQP_ERR_ARGUMENT);
    eqp_snapshot_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_variant_gives_the_same_particles, files_clear),
        cmocka_unit_test_setup(headers_of_gadget_4_give_the_same_particles, files_clear),
        cmocka_unit_test_setup(masses_of_the_header_come_before_those_of_the_block, files_clear),
        cmocka_unit_test_setup(all_masses_may_stand_in_the_header_or_none, files_clear),
        cmocka_unit_test_setup(ids_that_are_not_there_follow_the_order, files_clear),
        cmocka_unit_test_setup(several_files_are_one_snapshot, files_clear),
        cmocka_unit_test_setup(a_set_that_does_not_fit_together_is_refused, files_clear),
        cmocka_unit_test_setup(truncation_anywhere_is_refused, files_clear),
        cmocka_unit_test_setup(damaged_records_are_refused, files_clear),
        cmocka_unit_test_setup(counts_that_lie_are_refused, files_clear),
        cmocka_unit_test_setup(totals_are_checked_if_they_are_given, files_clear),
        cmocka_unit_test_setup(no_particles_is_an_error, files_clear),
        cmocka_unit_test_setup(values_that_cannot_be_used_are_named, files_clear),
        cmocka_unit_test_setup(a_slice_beside_a_bad_value_is_good, files_clear),
        cmocka_unit_test_setup(a_header_with_impossible_numbers_is_refused, files_clear),
        cmocka_unit_test_setup(velocities_of_cosmological_files_are_peculiar, files_clear),
        cmocka_unit_test_setup(more_particles_than_a_buffer_holds, files_clear),
        cmocka_unit_test_setup(records_beyond_4_gigabytes_are_found, files_clear),
        cmocka_unit_test_setup(a_file_that_shrinks_after_opening_is_an_error, files_clear),
        cmocka_unit_test_setup(millions_of_empty_blocks_are_refused, files_clear),
        cmocka_unit_test_setup(equal_ids_and_large_numbers_are_read_as_they_stand, files_clear),
        cmocka_unit_test_setup(ranges_outside_the_snapshot_are_refused, files_clear),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
