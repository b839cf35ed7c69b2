/* SPDX-License-Identifier: BSD-3-Clause */
/* TIPSY in both byte orders, with any pad word. */
#include "snapshot_files.h"

#include "io/internal.h"

enum { TYPES = 6, KINDS = 3 };

static const int record_bytes[KINDS] = {48, 36, 44};
static const int64_t counts[TYPES] = {2, 5, 0, 0, 3, 0};
static const double no_mass[TYPES];

static bytes header_of(bool big, int64_t n, int64_t gas, int64_t dark, int64_t star, uint32_t pad)
{
    bytes b = {0};

    put_real(&b, 0.5, 8, big);
    put_word(&b, (uint64_t)n, 4, big);
    put_word(&b, 3, 4, big);
    put_word(&b, (uint64_t)gas, 4, big);
    put_word(&b, (uint64_t)dark, 4, big);
    put_word(&b, (uint64_t)star, 4, big);
    put_word(&b, pad, 4, big);
    return b;
}

/* doubles: 0 none, 1 positions, 2 positions and velocities. */
static bytes file_in(bool big, uint32_t pad, int doubles)
{
    const int64_t n[KINDS] = {counts[0], counts[1], counts[4]};
    bytes b = header_of(big, 10, n[0], n[1], n[2], pad);
    int64_t i = 0;

    for (int k = 0; k < KINDS; k++) {
        for (int64_t j = 0; j < n[k]; j++, i++) {
            for (int c = 0; c < record_bytes[k] / 4; c++) {
                put_real(&b, c < 7 ? model(c, i) : -99, (c > 0 && c < 1 + 3 * doubles) ? 8 : 4, big);
            }
        }
    }
    return b;
}

static bytes file_of(bool big, uint32_t pad)
{
    return file_in(big, pad, 0);
}

TEST(doubles_and_short_headers_are_told_by_the_size)
{
    FREED_BY(particles_free) particles whole = model_particles(1, TYPES, counts, no_mass, 0, false);

    for (int variant = 0; variant < 12; variant++) {
        const bool is_short = variant & 2;
        bytes file = file_in(variant & 1, 0, variant / 4);

        if (is_short) {
            memmove(file.p + 28, file.p + 32, file.n - 32);
            file.n -= 4;
        }
        save(in_folder("a"), &file);
        check_format(&whole, variant == 5 ? 1 : 7, false);
        free(file.p);
    }
}

TEST(both_byte_orders_and_any_pad_give_the_same_particles)
{
    static const uint32_t pad[] = {0, 1, 0x7f26, 0xffffffff, 0x01000000};
    FREED_BY(particles_free) particles whole = model_particles(1, TYPES, counts, no_mass, 0, false);

    for (int k = 0; k < 10; k++) {
        bytes file = file_of(k % 2, pad[k / 2]);

        save(in_folder("a"), &file);
        check_slices(in_folder("a"), &whole);
        FREED(eqp_snapshot) *s = open_good(in_folder("a"));
        assert_string_equal(eqp_snapshot_get_info(s)->format, k % 2 ? "TIPSY big-endian" : "TIPSY little-endian");
        assert_true(eqp_snapshot_get_info(s)->time == 0.5);
        assert_false(eqp_snapshot_get_info(s)->has_ids);
        assert_false(eqp_snapshot_get_info(s)->cosmological);
        check_format(&whole, k / 2 == 2 ? 1 : 7, false);
        free(file.p);
    }
}

TEST(counts_that_lie_are_refused)
{
    static const int64_t dark[] = {0, 4, 6, INT32_MAX, (int64_t)UINT32_MAX - 5};

    for (int k = 0; k < 5; k++) {
        bytes file = file_of(true, 0), header = header_of(true, 5 + dark[k], 2, dark[k], 3, 0);

        memcpy(file.p, header.p, 32);
        save(in_folder("a"), &file);
        refuse_open(in_folder("a"), EQP_ERR_FORMAT, k < 2 ? "damaged" : "truncated");
        free(header.p);
        free(file.p);
    }
}

TEST(a_longer_file_is_refused)
{
    bytes file = file_of(false, 0);

    put_word(&file, 0, 1, false);
    save(in_folder("a"), &file);
    refuse_open(in_folder("a"), EQP_ERR_FORMAT, "damaged");
    free(file.p);
}

/* Files of this size cannot be written here, so their headers are parsed alone. */
TEST(the_pad_holds_the_upper_bits_of_large_counts)
{
    const int64_t high = (int64_t)1 << 32, dark = high + 7, n = dark + 2 + 3, size = 32 + 2 * 48 + dark * 36 + 3 * 44;
    /* n and dark each have bit 32. */
    bytes header = header_of(true, n - high, 2, dark - high, 3, 0x00010001);
    eqp__tipsy found;

    assert_true(eqp__tipsy_parse(header.p, size, &found));
    assert_true(found.big);
    assert_int_equal(found.n[0], 2);
    assert_int_equal(found.n[1], dark);
    assert_int_equal(found.n[2], 3);
    assert_int_equal(found.bytes, size);
    /* The same pad is ignored if the size matches the lower bits. */
    assert_true(eqp__tipsy_parse(header.p, size - high * 36, &found));
    assert_int_equal(found.n[1], 7);
    free(header.p);
}

/* 2^31 gas and as many dark particles: the lower 32 bits of the total are 0. */
TEST(the_pad_is_believed_where_the_sum_fails_without_it)
{
    const int64_t half = (int64_t)1 << 31;
    bytes header = header_of(false, 0, half, half, 0, 0x00000001);
    eqp__tipsy found;

    assert_true(eqp__tipsy_parse(header.p, 100, &found));
    assert_false(found.big);
    assert_int_equal(found.n[0], half);
    assert_int_equal(found.n[1], half);
    assert_int_equal(found.bytes, 32 + half * 48 + half * 36);
    header.p[28] = 2;
    assert_false(eqp__tipsy_parse(header.p, 100, &found));
    free(header.p);
}
