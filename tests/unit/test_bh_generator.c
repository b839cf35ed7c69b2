/* SPDX-License-Identifier: BSD-3-Clause */
/* Words of --generate, valid and invalid. */
#include "generate.h"
#include "unit.h"

static bh_generator parse(const char *text)
{
    bh_generator made;
    eqp_message message = {""};

    if (bh_generator_parse(text, &made, &message) != EQP_OK) {
        fail_msg("%s: %s", text, message.text);
    }
    return made;
}

TEST(what_is_not_said_has_the_default)
{
    const int nkinds = bh_generators.nkinds;
    const app_recipe_kind *table = bh_generators.kind;

    assert_int_equal(nkinds, 5);
    for (int i = 0; i < nkinds; i++) {
        bh_generator made = parse(table[i].name);
        assert_ptr_equal(made.kind, &table[i]);
        assert_false(made.seeded);
        assert_true(strlen(table[i].help) > 10 && strcmp(table[i].key[0].name, "n") == 0);
        for (int k = 0; k < table[i].nkeys; k++) {
            const app_recipe_key *key = &table[i].key[k];
            assert_true(made.value[k] == key->value && key->value >= key->least && key->value <= key->most);
            assert_true(strlen(key->help) > 3);
            for (int other = 0; other < k; other++) {
                assert_string_not_equal(key->name, table[i].key[other].name);
            }
        }
    }
    bh_generator made = parse("clusters:slope=2.5,n=1e4,seed=9007199254740992,box=0x10");
    assert_int_equal(bh_generator_count(&made), 10000);
    assert_true(made.seeded && made.seed == (uint64_t)1 << 53);
    assert_true(made.value[2] == 2.5 && made.value[4] == 16);
}

/* Every key of every kind takes its limits and nothing beyond. */
TEST(ranges_are_refused_beyond_their_ends)
{
    const int nkinds = bh_generators.nkinds;
    const app_recipe_kind *table = bh_generators.kind;
    char text[128];
    bh_generator made, unchanged;

    for (int i = 0; i < nkinds; i++) {
        for (int k = 0; k < table[i].nkeys; k++) {
            const app_recipe_key *key = &table[i].key[k];
            const double value[4] = {key->least, key->most, key->least - 1, 1.1 * key->most + 1};
            for (int v = 0; v < 4; v++) {
                snprintf(text, sizeof text, "%s:%s=%.17g", table[i].name, key->name, value[v]);
                memset(&made, 0x5a, sizeof made);
                unchanged = made;
                eqp_message message = {""};
                int code = bh_generator_parse(text, &made, &message);
                assert_int_equal(code, v < 2 ? EQP_OK : EQP_ERR_ARGUMENT);
                if (v >= 2) {
                    assert_memory_equal(&made, &unchanged, sizeof made);
                    assert_non_null(strstr(message.text, key->name));
                }
            }
        }
    }
}

TEST(nonsense_is_refused_with_one_line)
{
    static const struct {
        const char *text;
        int code;
    } wrong[] = {
        {"", EQP_ERR_UNKNOWN},
        {":", EQP_ERR_UNKNOWN},
        {"plumme", EQP_ERR_UNKNOWN},
        {"plummers", EQP_ERR_UNKNOWN},
        {"Plummer", EQP_ERR_UNKNOWN},
        {"plummer,n=3", EQP_ERR_UNKNOWN},
        {"plummer:", EQP_ERR_UNKNOWN},
        {"plummer:n=3,", EQP_ERR_UNKNOWN},
        {"plummer:,n=3", EQP_ERR_UNKNOWN},
        {"plummer:box=3", EQP_ERR_UNKNOWN},
        {"plummer:=3", EQP_ERR_UNKNOWN},
        {"plummer:n", EQP_ERR_ARGUMENT},
        {"plummer:n=", EQP_ERR_ARGUMENT},
        {"plummer:n= 3", EQP_ERR_ARGUMENT},
        {"plummer:n=3 ", EQP_ERR_ARGUMENT},
        {"plummer:n=3:a=1", EQP_ERR_ARGUMENT},
        {"plummer:n=3.5", EQP_ERR_ARGUMENT},
        {"plummer:n=nan", EQP_ERR_ARGUMENT},
        {"plummer:a=inf", EQP_ERR_ARGUMENT},
        {"plummer:n=99999999999999999999", EQP_ERR_ARGUMENT},
        {"plummer:n=3,n=3", EQP_ERR_ARGUMENT},
        {"plummer:seed=1,seed=1", EQP_ERR_ARGUMENT},
        {"plummer:seed=-1", EQP_ERR_ARGUMENT},
        {"plummer:seed=0.5", EQP_ERR_ARGUMENT},
        {"disks:n=99", EQP_ERR_ARGUMENT},
        {"uniform:cube=0.5", EQP_ERR_ARGUMENT},
        {"\n\x01"
         "very-long-name-very-long-name-very-long-name-very-long-name",
         EQP_ERR_UNKNOWN},
    };

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        bh_generator made = {0};
        eqp_message message = {""};
        if (bh_generator_parse(wrong[i].text, &made, &message) != wrong[i].code) {
            fail_msg("'%s' is not refused", wrong[i].text);
        }
        assert_null(made.kind);
        assert_true(message.text[0] != '\0' && strchr(message.text, '\n') == NULL);
        assert_int_equal(bh_generator_parse(wrong[i].text, &made, NULL), wrong[i].code);
    }
}
