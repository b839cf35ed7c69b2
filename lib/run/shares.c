/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/run.h"

/* Largest allowed ratio of two ranks' speeds; slower ranks are clamped. */
#define LEAST_SPEED 1e-3

/* Limits of all ranks' work in seconds, and of the work done per second; beyond them sums and quotients are
 * meaningless. */
#define LEAST_WORK 1e-15
#define MOST_WORK 1e15
#define FASTEST 1e30

/* Measured speeds that differ by less count as equal, since equal processors differ by some percent. */
#define OTHER_SPEED 0.1

/* Maps in which a model settles (Clarke 2011); after these the wait for the next map doubles, up to LONGEST_WAIT
 * times. */
#define MAPS_IN_A_ROW 10
#define LONGEST_WAIT 20

static void scale_to_mean_one(int n, double *speed)
{
    double sum = 0.0;

    for (int i = 0; i < n; i++) {
        sum += speed[i];
    }
    for (int i = 0; i < n; i++) {
        speed[i] *= n / sum;
    }
}

struct eqp_rank_shares {
    const eqp_share_options *choice; /* borrowed */
    int nranks;
    const eqp_speed_model *model; /* of the learned kinds, else NULL */
    void *learned;                /* state of the model */
    double *speed;                /* [nranks] of the last renewal */
    double *work, *second;        /* [nranks] since the last renewal */
    bool automatic;
    eqp__kept_shares now;
};

/* EQP_SHARE_MEASURED: each rank keeps its last speed; unmeasured ranks get the mean of the measured ones. */
typedef struct last_speed {
    int nranks;
    double *speed; /* [nranks] 0: not seen */
} last_speed;

static void last_speeds_free(void *state)
{
    last_speed *last = state;

    if (last != NULL) {
        EQP__FREE(last->speed, last);
    }
}

static int last_speeds_create(int nranks, void **state)
{
    last_speed *last = NULL;
    int code;

    EQP_TRY(eqp_array_create(&last, 1, sizeof *last));
    EQP_TRY(eqp_array_create(&last->speed, nranks, sizeof *last->speed));
    last->nranks = nranks;
    *state = last;
    last = NULL;
done:
    last_speeds_free(last);
    return code;
}

static int last_speeds_add(void *state, int rank, double size, double seconds)
{
    const double speed = size / seconds;

    EQP__FAIL_IF(!(speed >= 1.0 / FASTEST && speed <= FASTEST), EQP_ERR_DATA);
    ((last_speed *)state)->speed[rank] = speed;
    return EQP_OK;
}

static int last_speeds_divide(void *state, double total, double *size)
{
    const last_speed *last = state;
    double sum = 0.0, most = 0.0, all = 0.0;
    int seen = 0;

    for (int r = 0; r < last->nranks; r++) {
        most = fmax(most, last->speed[r]);
    }
    for (int r = 0; r < last->nranks && most > 0; r++) {
        sum += last->speed[r] / most; /* sums of huge speeds overflow */
        seen += last->speed[r] > 0;
    }
    for (int r = 0; r < last->nranks; r++) {
        size[r] = last->speed[r] > 0 ? last->speed[r] / most : seen > 0 ? sum / seen : 1.0;
        all += size[r];
    }
    for (int r = 0; r < last->nranks; r++) {
        size[r] *= total / all;
    }
    return EQP_OK;
}

static const eqp_speed_model last_speeds = {"last", last_speeds_create, last_speeds_add, last_speeds_divide,
                                            last_speeds_free};

int eqp__rank_shares_create(const eqp_share_options *choice, bool automatic, int nranks, eqp_rank_shares **shares)
{
    eqp_rank_shares *made = NULL;
    int code;

    EQP__FAIL_IF((choice->kind == EQP_SHARE_SPEEDS && (choice->nspeeds < 1 || nranks % choice->nspeeds != 0)) ||
                     (choice->kind == EQP_SHARE_MODEL && choice->model == NULL),
                 EQP_ERR_ARGUMENT);
    EQP_TRY(eqp_array_create(&made, 1, sizeof *made));
    made->choice = choice;
    made->nranks = nranks;
    made->automatic = automatic;
    if (choice->kind != EQP_SHARE_EQUAL) {
        EQP_TRY(eqp_array_create(&made->speed, nranks, sizeof *made->speed));
    }
    for (int r = 0; r < nranks && made->speed != NULL; r++) {
        made->speed[r] = choice->nspeeds > 0 ? choice->speed[r % choice->nspeeds] : 1.0;
    }
    if (choice->kind == EQP_SHARE_MEASURED || choice->kind == EQP_SHARE_MODEL) {
        made->model = choice->kind == EQP_SHARE_MEASURED ? &last_speeds : choice->model;
        EQP_TRY(EQP__ARRAYS(EQP__ARRAY(made->work, nranks), EQP__ARRAY(made->second, nranks)));
        EQP_TRY(made->model->create(nranks, &made->learned));
    }
    *shares = made;
    made = NULL;
done:
    eqp__rank_shares_free(made);
    return code;
}

void eqp__rank_shares_free(eqp_rank_shares *shares)
{
    if (shares != NULL) {
        if (shares->model != NULL) {
            shares->model->free(shares->learned);
        }
        EQP__FREE(shares->speed, shares->work, shares->second, shares);
    }
}

eqp_part_speeds eqp__rank_shares_speeds(const eqp_rank_shares *shares)
{
    return (eqp_part_speeds){shares->speed != NULL ? shares->nranks : 0, shares->speed};
}

/* True if measured work per second contradicts the speeds of the present map. */
static bool differ(const eqp_rank_shares *shares)
{
    double sum = 0.0, map = 0.0;
    bool other = false;

    for (int r = 0; r < shares->nranks; r++) {
        if (shares->second[r] > 0) {
            sum += shares->work[r] / shares->second[r];
            map += shares->speed[r];
        }
    }
    for (int r = 0; r < shares->nranks && sum > 0; r++) {
        if (shares->second[r] > 0) {
            const double speed = shares->work[r] / shares->second[r] / sum * map;
            other = other || fabs(speed - shares->speed[r]) > OTHER_SPEED * shares->speed[r];
        }
    }
    return other;
}

void eqp__rank_shares_learn(eqp_rank_shares *shares, int64_t evaluations, const eqp_rank_row *rows)
{
    for (int r = 0; r < shares->nranks && shares->model != NULL; r++) {
        const eqp_rank_row *row = &rows[r];
        if (isfinite(row->work) && isfinite(row->load) && row->work > 0 && row->load > 0) {
            shares->work[r] += row->work;
            shares->second[r] += row->load;
        }
    }
    if (shares->model != NULL) {
        shares->now.evaluations += evaluations;
        shares->now.steps++;
        shares->now.maps = shares->now.steps > MAPS_IN_A_ROW && !differ(shares) ? 0 : shares->now.maps;
    }
}

bool eqp__rank_shares_want(const eqp_rank_shares *shares)
{
    const int64_t more = shares->now.maps - MAPS_IN_A_ROW;
    const int64_t patience = more < 0 ? 1 : INT64_C(2) << (more < LONGEST_WAIT ? more : LONGEST_WAIT);

    return shares->automatic && shares->model != NULL && shares->now.steps >= patience && differ(shares);
}

int eqp__rank_shares_renew(eqp_rank_shares *shares)
{
    double total = 0.0, *size = NULL;
    int code;

    if (shares->now.evaluations == 0) {
        return EQP_OK;
    }
    shares->now.maps += differ(shares);
    for (int r = 0; r < shares->nranks; r++) {
        const double times = (double)shares->now.evaluations;
        total += shares->work[r] / times;
        if (shares->work[r] > 0) {
            (void)shares->model->add(shares->learned, r, shares->work[r] / times, shares->second[r] / times);
        }
        shares->work[r] = shares->second[r] = 0.0;
    }
    shares->now.steps = shares->now.evaluations = 0;
    if (!(total >= LEAST_WORK && total <= MOST_WORK)) {
        return EQP_OK; /* nothing was learned */
    }
    EQP_TRY(eqp_array_create(&size, shares->nranks, sizeof *size));
    code = shares->model->divide(shares->learned, total, size);
    if (code == EQP_ERR_ARGUMENT) { /* out of the model's range */
        code = EQP_OK;
        goto done;
    }
    EQP_TRY(code);
    for (int r = 0; r < shares->nranks; r++) {
        shares->speed[r] = fmax(size[r] * shares->nranks / total, LEAST_SPEED);
    }
    scale_to_mean_one(shares->nranks, shares->speed);
done:
    free(size);
    return code;
}

void eqp__rank_shares_pass(eqp_rank_shares *shares, eqp__cursor *c)
{
    double *const last = shares->model == &last_speeds ? ((last_speed *)shares->learned)->speed : NULL;
    double *const row[EQP__SHARE_ROWS] = {shares->speed, shares->work, shares->second, last};

    for (int k = 0; k < EQP__SHARE_ROWS; k++) {
        for (int r = 0; r < shares->nranks; r++) {
            const double least = k == 0 ? LEAST_SPEED : 0.0, usual = k == 0 ? 1.0 : 0.0;
            double value = row[k] != NULL ? row[k][r] : usual;
            eqp__pass(c, &value, sizeof value);
            if (c->reads && row[k] != NULL) {
                row[k][r] = isfinite(value) && value >= least ? value : usual;
            }
        }
    }
}

eqp__kept_shares *eqp__rank_shares_kept(eqp_rank_shares *shares)
{
    return &shares->now;
}
