/* SPDX-License-Identifier: BSD-3-Clause */
/* A loop on MPI ranks: collective steps before and after the iterations. */
#include "loops/schedule_loop.h"

#include "base/internal.h"

#include <equipoise/more/comm.h>

#include <stdlib.h>
#include <string.h>

/* ---- measurements of a rank while it computes ---- */

double eqp__loop_now(const eqp_loop *loop)
{
    const eqp_clock *clock = &loop->options.clock;

    return clock->seconds != NULL ? clock->seconds(clock->user) : eqp_wall_seconds();
}

int64_t eqp__loop_grain(const eqp_loop *loop, int64_t count)
{
    return loop->options.grain > 0 ? loop->options.grain : count / 16 + (count % 16 != 0);
}

double eqp__loop_squares(double seconds, double squares, int64_t count, int64_t pieces)
{
    const double least = seconds * seconds / (double)count;

    return pieces > 1 && squares > least ? least + (squares - least) / (double)(pieces - 1) * (double)(count - 1)
                                         : least;
}

bool eqp__loop_learn(eqp_loop *loop, const eqp_schedule_sample *sample)
{
    const bool good = eqp__schedule_record(loop->schedule, loop->rank, sample) == EQP_OK;

    loop->result.iterations += sample->count;
    loop->result.seconds += sample->seconds;
    loop->result.overhead += sample->overhead;
    loop->result.refused += !good;
    return good;
}

/* ---- the loop ---- */

static int method_number(const eqp_schedule_method *method)
{
    for (int i = 0; i < eqp_schedule_method_count(); i++) {
        if (eqp_schedule_method_at(i) == method) {
            return i;
        }
    }
    return -1;
}

static int check(const eqp_schedule_method *method, int64_t n, const eqp_loop_options *options)
{
    EQP__FAIL_IF(options->size != sizeof *options || method_number(method) < 0 || n < 0 || options->grain < 0 ||
                     options->most_given < 0,
                 EQP_ERR_ARGUMENT);
    EQP__FAIL_IF(options->bundles && n > 0, EQP_ERR_ARGUMENT);
    return options->yield && n > INT32_MAX ? EQP_ERR_OVERFLOW : EQP_OK;
}

/* Checksum of all arguments that must agree; clocks may differ. With different options or rules, ranks would wait in
 * different calls or hand out the same iterations twice. */
static int64_t print_of(const eqp_schedule_method *method, int64_t n, int nranks, const eqp_schedule_options *rules,
                        const eqp_loop_options *options)
{
    const int64_t whole[] = {
        method_number(method), n, options->yield, options->bundles, options->grain, options->most_given, rules->chunk,
        rules->dimensions};
    const double real[] = {rules->factor, rules->overhead, rules->deviation};
    int64_t print = eqp_fingerprint(0, sizeof whole / sizeof whole[0], whole);

    print = eqp_fingerprint(print, sizeof real / sizeof real[0], real);
    return eqp_fingerprint(print, nranks, rules->weight);
}

static int create_words(eqp_loop *loop)
{
    const int64_t words = 1 + (loop->rank == 0 ? loop->schedule->npools + (int64_t)loop->nranks * EQP__SHARES : 0);

    if (loop->options.bundles) {
        return EQP_OK;
    }
    EQP__FAIL_IF(MPI_Win_allocate((MPI_Aint)(words * (int64_t)sizeof(int64_t)), (int)sizeof(int64_t), MPI_INFO_NULL,
                                  loop->comm, &loop->word, &loop->words) != MPI_SUCCESS ||
                     MPI_Win_set_errhandler(loop->words, MPI_ERRORS_RETURN) != MPI_SUCCESS ||
                     MPI_Win_lock_all(MPI_MODE_NOCHECK, loop->words) != MPI_SUCCESS,
                 EQP_ERR_MPI);
    return EQP_OK;
}

int eqp_loop_create(MPI_Comm comm, const eqp_schedule_method *method, int64_t n, const eqp_schedule_options *rules,
                    const eqp_loop_options *options, eqp_loop **loop)
{
    const eqp_loop_options defaults = eqp_loop_options_defaults();
    const eqp_schedule_options usual = eqp_schedule_options_defaults();
    eqp_loop *l = NULL;
    MPI_Comm own = MPI_COMM_NULL;
    int rank = 0, nranks = 0, code = eqp_comm_create(comm, &own);

    EQP__CHECK(code);
    MPI_Comm_rank(own, &rank);
    MPI_Comm_size(own, &nranks);
    options = options ? options : &defaults;
    code = loop ? check(method, n, options) : EQP_ERR_ARGUMENT;
    code = code ? code : eqp_array_create(&l, 1, sizeof *l);
    code = eqp_agree(own, code, NULL);
    code = code ? code : eqp_agree_same(own, print_of(method, n, nranks, rules ? rules : &usual, options));
    if (code) {
        free(l);
        eqp_comm_free(&own);
        return code;
    }
    l->options = *options;
    l->comm = own;
    l->words = MPI_WIN_NULL;
    l->rank = rank;
    l->nranks = nranks;
    code = eqp_schedule_create(method, n, l->nranks, rules, &l->schedule);
    code = code ? code
                : EQP__ARRAYS(EQP__ARRAY(l->share, (int64_t)l->nranks * EQP__SHARES),
                              EQP__ARRAY(l->pool, l->schedule->npools), EQP__ARRAY(l->cells, l->nranks));
    if (!code && options->bundles && !(code = eqp__loop_talk_create(l, &l->talk))) {
        code = EQP__ARRAYS(EQP__ARRAY(l->part, (int64_t)l->nranks + 1), EQP__ARRAY(l->wanted, (int64_t)l->nranks + 1));
    }
    if ((code = eqp_agree(own, code, NULL)) || (code = create_words(l))) {
        eqp_loop_free(l);
        return code;
    }
    *loop = l;
    return EQP_OK;
}

void eqp_loop_free(eqp_loop *loop)
{
    if (!loop) {
        return;
    }
    if (loop->words != MPI_WIN_NULL) {
        (void)MPI_Win_unlock_all(loop->words);
        (void)MPI_Win_free(&loop->words);
    }
    eqp__loop_talk_free(loop->talk);
    eqp_schedule_free(loop->schedule);
    EQP__FREE(loop->share, loop->pool, loop->cells, loop->part, loop->wanted);
    eqp_comm_free(&loop->comm);
    free(loop);
}

eqp_schedule_chunk eqp_loop_part(const eqp_loop *loop, int rank)
{
    if (!loop || rank < 0 || rank >= loop->nranks) {
        return (eqp_schedule_chunk){0, 0};
    }
    return loop->part ? (eqp_schedule_chunk){loop->part[rank], loop->part[rank + 1] - loop->part[rank]}
                      : eqp__schedule_part(loop->schedule->n, loop->nranks, rank);
}

int eqp_loop_resize(eqp_loop *loop, int64_t mine)
{
    int64_t *first = NULL;

    EQP__FAIL_IF(!loop, EQP_ERR_ARGUMENT);
    EQP__CHECK(eqp_agree(loop->comm, mine < 0 || !loop->options.bundles ? EQP_ERR_ARGUMENT : EQP_OK, NULL));
    first = loop->wanted;
    EQP__CHECK(EQP__MPI(MPI_Allgather(&mine, 1, MPI_INT64_T, first + 1, 1, MPI_INT64_T, loop->comm)));
    for (int r = 0; r < loop->nranks; r++) {
        EQP__FAIL_IF(first[r + 1] > INT64_MAX - first[r], EQP_ERR_OVERFLOW);
        first[r + 1] += first[r];
    }
    loop->wanted = loop->part;
    loop->part = first;
    return EQP_OK;
}

static int gather_shares(eqp_loop *loop)
{
    const eqp__share mine = eqp__schedule_share(loop->schedule, loop->rank);

    EQP__CHECK(
        EQP__MPI(MPI_Allgather(mine.of, EQP__SHARES, MPI_DOUBLE, loop->share, EQP__SHARES, MPI_DOUBLE, loop->comm)));
    for (int r = 0; r < loop->nranks; r++) {
        eqp__share share;
        memcpy(share.of, loop->share + (size_t)r * EQP__SHARES, sizeof share.of);
        eqp__schedule_set_share(loop->schedule, r, &share);
    }
    return EQP_OK;
}

/* Initializes the windows. Collective: no rank continues before all are ready. */
static int fill_windows(eqp_loop *loop)
{
    const eqp_schedule *s = loop->schedule;

    loop->word[EQP__LOOP_CELL] = loop->cell = 0;
    if (loop->rank == 0) {
        memcpy(loop->word + EQP__LOOP_POOLS, s->next, (size_t)s->npools * sizeof *s->next);
        memcpy(loop->word + eqp__loop_shares_at(loop), loop->share,
               (size_t)loop->nranks * EQP__SHARES * sizeof *loop->share);
    }
    EQP__FAIL_IF(MPI_Win_sync(loop->words) != MPI_SUCCESS || MPI_Barrier(loop->comm) != MPI_SUCCESS ||
                     MPI_Win_sync(loop->words) != MPI_SUCCESS,
                 EQP_ERR_MPI);
    return EQP_OK;
}

static int hand_out(eqp_loop *loop)
{
    int code;

    if (loop->part) {
        eqp__schedule_restart_parts(loop->schedule, loop->part);
    } else if (loop->ran) {
        eqp__schedule_restart(loop->schedule, loop->schedule->n);
    }
    loop->ran = true;
    EQP__CHECK(gather_shares(loop));
    if (loop->part) {
        return eqp__loop_ask_master(loop);
    }
    code = fill_windows(loop);
    return code ? code : eqp__loop_help_yourselves(loop);
}

static bool is_complete(const eqp_loop *loop, const eqp_loop_work *work)
{
    const eqp_loop_bundles *p = work ? work->bundles : NULL;

    return work && work->compute && (loop->options.bundles ? p && p->pack && p->compute && p->take : !p);
}

int eqp_loop_run(eqp_loop *loop, const eqp_loop_work *work, eqp_loop_result *result)
{
    const eqp_loop_result nothing = {0};

    EQP__FAIL_IF(!loop, EQP_ERR_ARGUMENT);
    EQP__CHECK(eqp_agree(loop->comm, is_complete(loop, work) ? EQP_OK : EQP_ERR_ARGUMENT, NULL));
    loop->work = *work;
    loop->result = nothing;
    /* Returns after all ranks have computed and all bundles have come back. */
    EQP__CHECK(eqp_agree(loop->comm, hand_out(loop), NULL));
    if (result) {
        *result = loop->result;
    }
    return EQP_OK;
}
