/* SPDX-License-Identifier: BSD-3-Clause */
/* The owners at home, and other queries of a run's state. */
#include "run/run.h"

#include "methods/frame/frame.h"

#include <equipoise/more/comm.h>

bool eqp__can_repair(const eqp_balancer *b)
{
    return b->map != NULL && eqp_map_shared(b->map) == 0 && eqp__method_weighs(b->options.method.method) &&
           b->feedback == NULL && !(b->options.method.method->flags & EQP_SHAPED);
}

void eqp__balancer_forget(const eqp_balancer *b, eqp_survey *survey)
{
    if (b->options.lazy == NULL) { /* memory matters more than another walk */
        eqp__survey_release(survey);
    }
}

void eqp__names_free(eqp_names *of)
{
    EQP__FREE(of->key, of->present, of->label);
}

static int by_key(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

void eqp__names_sort(eqp_names *names)
{
    int64_t sorted = 1;

    while (sorted < names->n && names->key[sorted - 1] <= names->key[sorted]) {
        sorted++;
    }
    if (sorted >= names->n) { /* the usual case */
        return;
    }
    qsort(names->key, (size_t)names->n, sizeof *names->key, by_key);
}

/* Reads the owners at home; each index of the caller's arrays must occur once. */
static int read_names(const eqp_balancer *b, const eqp_survey *survey, eqp_names *of)
{
    int64_t most = -1;

    EQP__CHECK(EQP__ARRAYS(EQP__ARRAY(of->key, survey->n), EQP__ARRAY(of->present, survey->n),
                           EQP__ARRAY(of->label, survey->n)));
    for (int64_t i = 0; i < survey->n; i++) {
        of->present[i].home = -1;
    }
    for (int64_t i = 0; i < survey->n; i++) {
        const eqp_owner *owner = &survey->owner[i];
        const int64_t at = owner->at_home;
        if (owner->home != b->rank) {
            continue;
        }
        EQP__FAIL_IF(at < 0 || at >= survey->n || of->present[at].home >= 0, EQP_ERR_DATA);
        of->key[at] = owner->key;
        of->present[at] = (eqp_placement){owner->tag, b->rank};
        of->label[at] = owner->label;
        of->n++;
        most = at > most ? at : most;
    }
    EQP__CHECK(most < of->n ? EQP_OK : EQP_ERR_DATA);
    eqp__names_sort(of);
    return EQP_OK;
}

int eqp__take_names(eqp_balancer *b, eqp_names *of)
{
    const eqp_survey_detail nothing = {.heavy = INFINITY};
    int code;

    *of = (eqp_names){.n = 0};
    eqp__survey_clear(&b->names, &b->model, &nothing);
    code = b->problem.survey(b->problem.user, EQP_SURVEY_NAMES, &b->names);
    EQP_TRY(eqp_agree(b->comm, code == EQP_OK ? read_names(b, &b->names, of) : code, NULL));
done:
    eqp__balancer_forget(b, &b->names);
    return code;
}

int eqp__take_grain(eqp_balancer *b, int grain, eqp_names *names)
{
    b->run.grain = grain;
    eqp__names_free(names);
    *names = (eqp_names){.n = 0};
    EQP__CHECK(eqp_agree(b->comm, b->problem.grain(b->problem.user, grain), NULL));
    return eqp__take_names(b, names);
}

/* Fingerprint of a method, which must be the same on all ranks. */
int64_t eqp__print_method(int64_t print, const eqp_method *method)
{
    if (method == NULL) {
        return eqp_fingerprint(print, 1, NULL);
    }
    const int64_t word[] = {method->flags, eqp_method_assigns(method), method == &eqp__method_auto};

    return eqp__print_text(eqp_fingerprint(print, 3, word), method->name);
}

int64_t eqp__print_choice(int64_t print, const eqp_choice *choice)
{
    const eqp_choice_options *o = &choice->options;
    const int64_t word[] = {
        o->strategy, eqp__bits_of(o->rate), eqp__bits_of(o->threshold), o->pins, o->full, o->split, o->even, o->homes,
        o->maps};

    print = eqp_fingerprint(print, (int64_t)(sizeof word / sizeof word[0]), word);
    print = eqp_fingerprint(print, (int64_t)(sizeof choice->settings / sizeof(int64_t)), &choice->settings);
    return eqp__print_method(eqp__print_method(eqp__print_text(print, choice->word), choice->method), o->start);
}
