/* SPDX-License-Identifier: BSD-3-Clause */
#include "survey.h"

#include <equipoise/base.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Weights are nominal nanoseconds, so that a tile weighs some hundreds. */
#define NANOSECONDS 1e9

/* Tiles are shown for groups that are probably heavy, judged by the group before: rather a few too many than walks
 * that have to be done again. */
#define PROBABLY 0.8

int bh_survey_init(bh_survey *survey, const bh_survey_detail *detail)
{
    *survey = (bh_survey){.detail = *detail};
    return bh_costs_init(&survey->nominal);
}

void bh_survey_free(bh_survey *survey)
{
    free(survey->group);
    free(survey->pin);
    free(survey->tile);
    *survey = (bh_survey){.n = 0};
}

double bh_survey_weight(const bh_survey *survey, const bh_counts *counts)
{
    return NANOSECONDS * bh_costs_predict(&survey->nominal, counts);
}

/* Of a group that ranks share each knows a part only: its tiles are kept whatever that part weighs. */
static bool always_all(const bh_survey *survey, const bh_work *work)
{
    return work->tag < 0 && survey->detail.heavy < INFINITY;
}

bool bh_survey_wants_all(const bh_survey *survey, const bh_work *work)
{
    return always_all(survey, work) ||
           survey->per_target * (double)work->group.count >= PROBABLY * survey->detail.heavy;
}

uint64_t bh_survey_begin(bh_survey_pass *pass, bh_survey *survey, const bh_work *work, bool all)
{
    const bool whole = work->tag >= 0;

    *pass = (bh_survey_pass){.survey = survey, .work = work, .all = all};
    pass->shown_below = all ? UINT64_MAX : whole ? 0 : survey->detail.pin_below;
    bh_group_centre(&work->group, pass->centre);
    survey->group_pins = survey->group_tiles = 0;
    return pass->shown_below;
}

static int keep_tile(bh_survey_pass *pass, const bh_tile *tile)
{
    bh_survey *survey = pass->survey;
    const int64_t count = pass->work->group.count;
    const bh_counts work = {.of = {[BH_KIND_PAIR] = tile->nsources * count,
                                   [BH_KIND_CELL] = tile->ncells * count,
                                   [BH_KIND_LISTED] = tile->nsources + tile->ncells,
                                   [BH_KIND_VISIT] = tile->nleaves + tile->ncells}};
    const int64_t at = survey->ntiles + survey->group_tiles;
    int code = eqp_array_reserve(&survey->tile, &survey->tile_capacity, at + 1, sizeof *survey->tile);

    if (code == EQP_OK) {
        bh_survey_tile *kept = &survey->tile[at];
        bh_tile_centroid(pass->centre, tile->centre, kept->centroid);
        kept->weight = bh_survey_weight(survey, &work);
        kept->pin = tile->pin;
        survey->group_tiles++;
    }
    return code;
}

int bh_survey_tile_add(bh_survey_pass *pass, const bh_tile *tile)
{
    bh_survey *survey = pass->survey;
    int code = pass->all ? keep_tile(pass, tile) : EQP_OK;

    if (code == EQP_OK && (uint64_t)tile->pin < survey->detail.pin_below) {
        const int64_t at = survey->npins + survey->group_pins;
        code = eqp_array_reserve(&survey->pin, &survey->pin_capacity, at + 1, sizeof *survey->pin);
        if (code == EQP_OK) {
            survey->pin[at] = tile->pin;
            survey->group_pins++;
        }
    }
    return code;
}

/* The pins of a list whose tiles were not shown. */
static int read_pins(bh_survey *survey, const bh_tree *tree, const bh_list *list)
{
    int code =
        eqp_array_reserve(&survey->pin, &survey->pin_capacity, survey->npins + list->ntiles + 1, sizeof *survey->pin);

    if (code == EQP_OK) {
        survey->group_pins = bh_list_pins(tree, list, survey->detail.pin_below, survey->pin + survey->npins);
    }
    return code;
}

/* The group at hand, with its pins and, if it is heavy, its tiles. */
static int take_in(bh_survey_pass *pass, const bh_counts *counts, int64_t interactions, bool heavy)
{
    bh_survey *survey = pass->survey;
    const bh_work *work = pass->work;
    int code = eqp_array_reserve(&survey->group, &survey->capacity, survey->n + 1, sizeof *survey->group);

    if (code != EQP_OK) {
        return code;
    }
    bh_surveyed *taken = &survey->group[survey->n++];
    *taken = (bh_surveyed){.key = work->group.key,
                           .part = work->group.part,
                           .count = work->group.count,
                           .home = work->home,
                           .whole = work->tag >= 0,
                           .at_home = work->at_home,
                           .tag = work->tag,
                           .counts = *counts,
                           .interactions = interactions,
                           .npins = survey->group_pins,
                           .ntiles = heavy ? survey->group_tiles : 0};
    memcpy(taken->centre, pass->centre, sizeof taken->centre);
    survey->npins += taken->npins;
    survey->ntiles += taken->ntiles;
    return EQP_OK;
}

int bh_survey_end(bh_survey_pass *pass, const bh_tree *tree, const bh_list *list, const bh_counts *counts, bool *again)
{
    bh_survey *survey = pass->survey;
    const double weight = bh_survey_weight(survey, counts);
    const bool heavy = weight >= survey->detail.heavy || always_all(survey, pass->work);
    int code = EQP_OK;

    *again = heavy && !pass->all;
    survey->per_target = weight / (double)pass->work->group.count;
    if (*again) {
        return EQP_OK;
    }
    if (pass->shown_below == 0 && survey->detail.pin_below > 0) {
        code = read_pins(survey, tree, list);
    }
    return code == EQP_OK ? take_in(pass, counts, list->ntiles + 1, heavy) : code;
}

int bh_survey_add_group(bh_survey *survey, const bh_group *group, int64_t tag, int home, int64_t at_home)
{
    const bh_work work = {.group = *group, .tag = tag, .home = home, .at_home = at_home};
    const bh_counts nothing = {{0}};
    bh_survey_pass pass;

    bh_survey_begin(&pass, survey, &work, false);
    return take_in(&pass, &nothing, 0, false);
}
