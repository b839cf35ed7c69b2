/* SPDX-License-Identifier: BSD-3-Clause */
#include "map/survey.h"

#include "base/internal.h"

#include <math.h>
#include <stdlib.h>

eqp_work_model eqp__work_model_measured(const eqp_work_model *model, const eqp_costs *costs)
{
    eqp_work_model measured = *model;

    if (costs->known) {
        measured.nominal = costs->fit.cost;
    }
    return measured;
}

double eqp__work_weight(const eqp_work_model *model, const int64_t *count)
{
    double seconds = 0.0;

    for (int k = 0; k < model->nkinds; k++) {
        seconds += model->nominal[k] * (double)count[k];
    }
    return 1e9 * seconds;
}

void eqp__survey_release(eqp_survey *survey)
{
    EQP__FREE(survey->owner, survey->pin, survey->tile, survey->phase);
    *survey = (eqp_survey){.n = 0};
}

void eqp__survey_clear(eqp_survey *survey, const eqp_work_model *model, const eqp_survey_detail *detail)
{
    survey->n = survey->npins = survey->ntiles = 0;
    survey->pins_taken = survey->tiles_taken = 0;
    survey->phases_taken = false;
    survey->model = *model;
    survey->detail = *detail;
    if (detail->cost) {
        survey->model.nominal = detail->cost;
    }
}

double eqp_survey_heavy(const eqp_survey *survey)
{
    return survey ? survey->detail.heavy : 0.0;
}

uint64_t eqp_survey_pin_below(const eqp_survey *survey)
{
    return survey ? survey->detail.pin_below : 0;
}

double eqp_survey_weigh(const eqp_survey *survey, const int64_t *count)
{
    return survey && count ? eqp__work_weight(&survey->model, count) : 0.0;
}

int eqp_survey_phases(const eqp_survey *survey)
{
    return survey && eqp__survey_cycles(survey) ? survey->model.phases.n : 1;
}

static int put_phases(eqp_survey *survey, const double *load)
{
    const int n = survey->model.phases.n;

    EQP__CHECK(eqp_array_reserve(&survey->phase, &survey->phase_capacity, (survey->n + 1) * n, sizeof *survey->phase));
    for (int k = 0; k < n; k++) {
        survey->phase[survey->n * n + k] = load ? load[k] : 1.0;
    }
    return EQP_OK;
}

int eqp_survey_add_phases(eqp_survey *survey, const double *load)
{
    EQP__FAIL_IF(!survey || !load, EQP_ERR_ARGUMENT);
    for (int k = 0; k < eqp_survey_phases(survey); k++) {
        EQP__FAIL_IF(!(load[k] >= 0) || !isfinite(load[k]), EQP_ERR_ARGUMENT);
    }
    if (!eqp__survey_cycles(survey)) {
        return EQP_OK;
    }
    EQP__CHECK(put_phases(survey, load));
    survey->phases_taken = true;
    return EQP_OK;
}

int eqp_survey_reserve(eqp_survey *survey, int64_t owners)
{
    return survey ? eqp_array_reserve(&survey->owner, &survey->capacity, owners, sizeof *survey->owner)
                  : EQP_ERR_ARGUMENT;
}

int eqp_survey_room_for_pins(eqp_survey *survey, int64_t most, int64_t **pin)
{
    EQP__FAIL_IF(!survey || !pin || most < 0 || most > INT64_MAX - survey->npins, EQP_ERR_ARGUMENT);
    EQP__CHECK(eqp_array_reserve(&survey->pin, &survey->pin_capacity, survey->npins + most, sizeof *survey->pin));
    *pin = survey->pin != NULL ? survey->pin + survey->npins : NULL;
    return EQP_OK;
}

int eqp_survey_took_pins(eqp_survey *survey, int64_t n)
{
    EQP__FAIL_IF(!survey || n < 0 || n > survey->pin_capacity - survey->npins, EQP_ERR_ARGUMENT);
    survey->npins += n;
    return EQP_OK;
}

int eqp_survey_add_pin(eqp_survey *survey, int64_t pin)
{
    int64_t *room;

    EQP__FAIL_IF(pin < 0, EQP_ERR_ARGUMENT);
    EQP__CHECK(eqp_survey_room_for_pins(survey, 1, &room));
    *room = pin;
    survey->npins++;
    return EQP_OK;
}

int eqp_survey_add_tile(eqp_survey *survey, const eqp_tile *tile)
{
    EQP__FAIL_IF(!survey || !tile, EQP_ERR_ARGUMENT);
    if (survey->ntiles == survey->tile_capacity) {
        EQP__CHECK(eqp_array_reserve(&survey->tile, &survey->tile_capacity, survey->ntiles + 1, sizeof *survey->tile));
    }
    survey->tile[survey->ntiles++] = *tile;
    return EQP_OK;
}

int eqp_survey_raise_tiles(eqp_survey *survey, double weight)
{
    double sum = 0.0, factor;

    EQP__FAIL_IF(!survey || !isfinite(weight), EQP_ERR_ARGUMENT);
    for (int64_t t = survey->tiles_taken; t < survey->ntiles; t++) {
        sum += survey->tile[t].weight;
    }
    factor = sum > 0.0 ? weight / sum : 1.0;
    for (int64_t t = survey->tiles_taken; t < survey->ntiles; t++) {
        survey->tile[t].weight *= fmax(factor, 1.0);
    }
    return EQP_OK;
}

int eqp_survey_add_owner(eqp_survey *survey, const eqp_owner *owner)
{
    EQP__FAIL_IF(!survey || !owner, EQP_ERR_ARGUMENT);
    if (survey->n == survey->capacity) {
        EQP__CHECK(eqp_array_reserve(&survey->owner, &survey->capacity, survey->n + 1, sizeof *survey->owner));
    }
    if (eqp__survey_cycles(survey) && !survey->phases_taken) {
        EQP__CHECK(put_phases(survey, NULL));
    }
    survey->phases_taken = false;
    eqp_owner *taken = &survey->owner[survey->n++];
    *taken = *owner;
    taken->npins = survey->npins - survey->pins_taken;
    taken->ntiles = survey->ntiles - survey->tiles_taken;
    survey->npins = survey->detail.count_pins ? survey->pins_taken : survey->npins;
    survey->pins_taken = survey->npins;
    survey->tiles_taken = survey->ntiles;
    return EQP_OK;
}
