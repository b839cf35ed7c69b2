/* SPDX-License-Identifier: BSD-3-Clause */
/* Measurements of a rank while it computes. */
#include "loops/schedule_loop.h"

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
    const bool good = eqp_schedule_record(loop->schedule, loop->rank, sample) == EQP_OK;

    loop->result.iterations += sample->count;
    loop->result.seconds += sample->seconds;
    loop->result.overhead += sample->overhead;
    loop->result.refused += !good;
    return good;
}
