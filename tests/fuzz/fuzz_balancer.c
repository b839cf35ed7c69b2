/* SPDX-License-Identifier: BSD-3-Clause */
/* A balancer's saved bytes, changed as the input says and given a valid checksum (make_balancer() in make_corpus.py),
 * are read by one rank. If they are accepted, the balancer can be packed and read again, and the run continues. */
#include "fuzz.h"

#include "base/internal.h"

#include <equipoise/balancer.h>

#include <math.h>

enum { OWNERS = 12, STEPS = 6, MOST_CHANGES = 64, CHANGE = 6 };

static const char *const method[] = {"sfc", "auto", "sfc:split"};
static const char *const renewal[] = {"auto", "repair", "gain", "3"};

typedef struct world {
    int64_t tag[OWNERS];
    eqp_balancer *balancer;
} world;

static int survey(void *user, eqp_survey_kind kind, eqp_survey *list)
{
    const world *w = user;
    int code = EQP_OK;

    for (int64_t i = 0; i < OWNERS && code == EQP_OK; i++) {
        const eqp_owner owner = {.key = (uint64_t)i << 30,
                                 .pin = i,
                                 .particles = 1,
                                 .at_home = i,
                                 .bytes = 8,
                                 .tag = w->tag[i],
                                 .centre = {(double)i, 0, 0},
                                 .count = {kind == EQP_SURVEY_WORK ? 100 + 10 * i : 0},
                                 .interactions = 1};
        code = eqp_survey_add_owner(list, &owner);
    }
    return code;
}

static void create(uint8_t how, world *w)
{
    const eqp_problem problem = {.user = w, .survey = survey};
    eqp_balancer_options options;

    *w = (world){.balancer = NULL};
    fuzz_require(eqp_balancer_options_init(&options, sizeof options) == EQP_OK);
    fuzz_require(eqp_choice_parse(NULL, NULL, method[how % 3], &options.method, NULL) == EQP_OK);
    fuzz_require(eqp_policy_options_parse(renewal[how / 3 % 4], &options.policy) == EQP_OK);
    options.share.kind = how / 12 % 2 != 0 ? EQP_SHARE_MEASURED : EQP_SHARE_EQUAL;
    fuzz_require(eqp_balancer_create(MPI_COMM_SELF, &problem, &options, &w->balancer, NULL) == EQP_OK);
}

static int step(world *w, int64_t number)
{
    const int64_t count[1] = {100 * OWNERS + 10 * number};
    eqp_rank_row row = {.load = 1e-6 * (double)count[0], .particles = OWNERS, .balance_seconds = 1e-3};
    eqp_advice advice;
    int code = eqp_balancer_advise(w->balancer, 100, &advice, NULL);

    for (int64_t i = 0; i < OWNERS && code == EQP_OK && advice.changed; i++) {
        w->tag[i] = advice.placement[i].tag;
    }
    return code == EQP_OK ? eqp_balancer_record(w->balancer, &(eqp_work){.row = &row, .count = count}, NULL) : code;
}

/* [*size], owned by the caller. */
static uint8_t *pack_run(uint8_t how, size_t *size)
{
    void *bytes = NULL;
    world w;

    create(how, &w);
    for (int64_t s = 0; s < STEPS; s++) {
        fuzz_require(step(&w, s) == EQP_OK);
    }
    fuzz_require(eqp_balancer_pack(w.balancer, size, &bytes) == EQP_OK);
    eqp_balancer_free(w.balancer);
    return bytes;
}

static void change(fuzz_bytes in, size_t size, uint8_t *bytes)
{
    for (int k = 0; k < MOST_CHANGES && in.left >= CHANGE; k++) {
        const size_t at = fuzz_word(&in, 4) % size;
        const uint8_t value = fuzz_byte(&in), n = fuzz_byte(&in);
        for (size_t i = at; i < size && i < at + n; i++) {
            bytes[i] = value;
        }
    }
}

/* Whatever was read, the next steps and the next save return. */
static void go_on(world *w)
{
    void *bytes = NULL;
    size_t size = 0;

    fuzz_require(eqp_balancer_pack(w->balancer, &size, &bytes) == EQP_OK);
    fuzz_require(eqp_balancer_unpack(w->balancer, size, bytes) == EQP_OK);
    free(bytes);
    for (int64_t s = 0; s < 2; s++) {
        const int code = step(w, s);
        fuzz_require(code == EQP_OK || code == EQP_ERR_DATA || code == EQP_ERR_OVERFLOW);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_bytes in = {data, size};
    const uint8_t how = fuzz_byte(&in);
    size_t n = 0;
    uint8_t *bytes = pack_run(how, &n), *whole = malloc(n);
    world w;

    create(how, &w);
    fuzz_require(whole);
    memcpy(whole, bytes, n);
    change(in, n - EQP__SEAL, bytes);
    const bool changed = memcmp(whole, bytes, n) != 0;
    fuzz_require(!changed || eqp_balancer_unpack(w.balancer, n, bytes) == EQP_ERR_FORMAT);
    eqp__seal(bytes, n);
    const int code = eqp_balancer_unpack(w.balancer, n, bytes);
    fuzz_require(code == EQP_OK || (changed && code == EQP_ERR_FORMAT));
    if (code == EQP_OK) {
        go_on(&w);
    }
    eqp_balancer_free(w.balancer);
    free(bytes);
    free(whole);
    return 0;
}
