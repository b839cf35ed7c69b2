/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_share.h"

#include "options.h"

#include <equipoise/base.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the words stand for, before a colon. */
#define WORDS "equal|speeds|measured|model"

/* Declared speeds may differ by as much. A part that is slower than that had better have no rank. */
#define LEAST_SPEED 1e-3

/* Measured speeds that differ by less say nothing: what is alike differs by some percent. */
#define OTHER_SPEED 0.1

/* A model settles within so many maps (Clarke 2011); then the wait for the next one doubles, so often at most. */
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

/* Reads S,S,... */
static int read_speeds(const char *text, app_share_choice *choice, eqp_message *message)
{
    char **words = NULL;
    double *speed = NULL, most = 0.0;
    int n = 0, code = app_parse_word_list(text, &n, &words, message);

    if (code == EQP_OK) {
        code = eqp_array_create(&speed, n, sizeof *speed);
    }
    for (int i = 0; i < n && code == EQP_OK; i++) {
        code = eqp_read_real(words[i], 0.0, true, INFINITY, &speed[i], NULL);
        if (code != EQP_OK) {
            eqp_message_set(message, "'%.40s' is no speed > 0", words[i]);
        }
        most = code == EQP_OK ? fmax(most, speed[i]) : most;
    }
    for (int i = 0; i < n && code == EQP_OK; i++) {
        speed[i] /= most; /* sums of huge ones overflow */
        if (speed[i] < LEAST_SPEED) {
            eqp_message_set(message, "'%.40s' is less than a thousandth of the largest speed", words[i]);
            code = EQP_ERR_ARGUMENT;
        }
    }
    free(words);
    if (code != EQP_OK) {
        free(speed);
        return code;
    }
    scale_to_mean_one(n, speed);
    choice->nspeeds = n;
    choice->speed = speed;
    return EQP_OK;
}

int app_share_parse(const char *text, app_share_choice *choice, eqp_message *message)
{
    app_share_choice made = {.model = EQP_SPEEDS_PIECEWISE};
    const size_t length = strcspn(text, ":");
    const char *rest = text[length] == ':' ? text + length + 1 : NULL;
    char word[16] = "";
    int kind, code = EQP_OK;

    if (length < sizeof word) {
        memcpy(word, text, length);
    }
    if (eqp_read_choice(word, WORDS, &kind, NULL) != EQP_OK) {
        eqp_message_set(message, "'%.100s' is not equal, speeds:S,..., measured or model[:" EQP_SPEEDS_KINDS "]", text);
        return EQP_ERR_ARGUMENT;
    }
    made.kind = (app_share_kind)kind;
    if (made.kind == APP_SHARE_SPEEDS) {
        code = read_speeds(rest != NULL ? rest : "", &made, message);
    } else if (rest != NULL && made.kind != APP_SHARE_MODEL) {
        eqp_message_set(message, "%s takes no value", word);
        code = EQP_ERR_ARGUMENT;
    } else if (rest != NULL && eqp_speeds_kind_parse(rest, &made.model) != EQP_OK) {
        eqp_message_set(message, "'%.40s' is not " EQP_SPEEDS_KINDS, rest);
        code = EQP_ERR_ARGUMENT;
    }
    if (code == EQP_OK) {
        *choice = made;
    }
    return code;
}

void app_share_choice_free(app_share_choice *choice)
{
    free(choice->speed);
    *choice = (app_share_choice){.kind = APP_SHARE_EQUAL};
}

int app_share_check(const app_share_choice *choice, int64_t nparts, eqp_message *message)
{
    if (choice->kind != APP_SHARE_SPEEDS || nparts % choice->nspeeds == 0) {
        return EQP_OK;
    }
    eqp_message_set(message, "%d speeds do not divide %lld parts", choice->nspeeds, (long long)nparts);
    return EQP_ERR_ARGUMENT;
}

struct app_shares {
    const app_share_choice *choice; /* borrowed */
    int nranks;
    eqp_speeds *speeds;    /* of the learned kinds, else NULL */
    double *speed;         /* [nranks] of the last renewal */
    double *work, *second; /* [nranks] since the last renewal */
    int64_t evaluations;   /* since then */
    bool automatic;
    int maps;      /* in a row that were made for other speeds */
    int64_t steps; /* since the last renewal */
};

static int create_learned(app_shares *s)
{
    const bool constant = s->choice->kind == APP_SHARE_MEASURED;
    int code;

    EQP_TRY(eqp_array_create(&s->work, s->nranks, sizeof *s->work));
    EQP_TRY(eqp_array_create(&s->second, s->nranks, sizeof *s->second));
    EQP_TRY(eqp_speeds_create(constant ? EQP_SPEEDS_CONSTANT : s->choice->model, s->nranks, 0, &s->speeds));
done:
    return code;
}

int app_shares_create(const char *program, const app_share_choice *choice, bool automatic, int nranks,
                      app_shares **shares, eqp_message *message)
{
    app_shares *made = NULL;
    eqp_message inner = {""};
    int code = app_share_check(choice, nranks, &inner);

    if (code != EQP_OK) {
        eqp_message_set(message, "%s: --share: %s", program, inner.text);
        return code;
    }
    code = eqp_array_create(&made, 1, sizeof *made);
    if (code != EQP_OK) {
        return code;
    }
    made->choice = choice;
    made->nranks = nranks;
    made->automatic = automatic;
    if (choice->kind != APP_SHARE_EQUAL) {
        code = eqp_array_create(&made->speed, nranks, sizeof *made->speed);
    }
    for (int r = 0; r < nranks && code == EQP_OK && made->speed != NULL; r++) {
        made->speed[r] = app_speed_of(app_share_declared(choice), r);
    }
    if (code == EQP_OK && (choice->kind == APP_SHARE_MEASURED || choice->kind == APP_SHARE_MODEL)) {
        code = create_learned(made);
    }
    if (code != EQP_OK) {
        app_shares_free(made);
        return code;
    }
    *shares = made;
    return EQP_OK;
}

void app_shares_free(app_shares *shares)
{
    if (shares != NULL) {
        eqp_speeds_free(shares->speeds);
        free(shares->speed);
        free(shares->work);
        free(shares->second);
        free(shares);
    }
}

app_speeds app_shares_speeds(const app_shares *shares)
{
    return (app_speeds){shares->speed != NULL ? shares->nranks : 0, shares->speed};
}

eqp_schedule_options app_shares_rules(const app_shares *shares, const eqp_schedule_options *rules)
{
    eqp_schedule_options weighted = *rules;

    weighted.weight = shares->speeds == NULL ? shares->speed : NULL;
    return weighted;
}

void app_shares_fill_row(const app_shares *shares, int rank, double work, app_rank_row *row)
{
    row->work = work;
    row->speed = app_speed_of(app_shares_speeds(shares), rank);
    row->predicted = work / row->speed;
}

/* Whether what ranks took for their work says other speeds than those of the map. */
static bool differ(const app_shares *shares)
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

void app_shares_learn(app_shares *shares, int64_t evaluations, const void *rows, size_t row_bytes)
{
    for (int r = 0; r < shares->nranks && shares->speeds != NULL; r++) {
        const app_rank_row *row = app_row_of(rows, row_bytes, r);
        if (isfinite(row->work) && isfinite(row->load) && row->work > 0 && row->load > 0) {
            shares->work[r] += row->work;
            shares->second[r] += row->load;
        }
    }
    if (shares->speeds != NULL) {
        shares->evaluations += evaluations;
        shares->steps++;
        shares->maps = shares->steps > MAPS_IN_A_ROW && !differ(shares) ? 0 : shares->maps;
    }
}

bool app_shares_want(const app_shares *shares)
{
    const int more = shares->maps - MAPS_IN_A_ROW;
    const int64_t patience = more < 0 ? 1 : INT64_C(2) << (more < LONGEST_WAIT ? more : LONGEST_WAIT);

    return shares->automatic && shares->speeds != NULL && shares->steps >= patience && differ(shares);
}

int app_shares_renew(app_shares *shares)
{
    double total = 0.0, *size = NULL;
    int code;

    if (shares->evaluations == 0) {
        return EQP_OK;
    }
    shares->maps += differ(shares);
    for (int r = 0; r < shares->nranks; r++) {
        const double times = (double)shares->evaluations;
        total += shares->work[r] / times;
        if (shares->work[r] > 0) {
            (void)eqp_speeds_add(shares->speeds, r, shares->work[r] / times, shares->second[r] / times);
        }
        shares->work[r] = shares->second[r] = 0.0;
    }
    shares->steps = shares->evaluations = 0;
    if (eqp_speeds_resize(shares->speeds, total) != EQP_OK || !(total > 0)) {
        return EQP_OK; /* no work, or so much that nobody can divide it: nothing was learnt */
    }
    EQP_TRY(eqp_array_create(&size, shares->nranks, sizeof *size));
    EQP_TRY(eqp_speeds_divide(shares->speeds, size, NULL));
    for (int r = 0; r < shares->nranks; r++) {
        shares->speed[r] = fmax(size[r] * shares->nranks / total, LEAST_SPEED);
    }
    scale_to_mean_one(shares->nranks, shares->speed);
done:
    free(size);
    return code;
}

double app_speeds_imbalance(app_speeds speeds, int nparts, const double *load)
{
    double sum = 0.0, most = 0.0;

    for (int p = 0; p < nparts; p++) {
        sum += load[p];
        most = fmax(most, load[p] / app_speed_of(speeds, p));
    }
    return sum > 0.0 ? fmax(most * nparts / sum - 1.0, 0.0) : 0.0;
}
