/* SPDX-License-Identifier: BSD-3-Clause */
#include "survey.h"

#include <equipoise/base.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Weights are nominal nanoseconds, so that a tile weighs some hundreds. */
#define NANOSECONDS 1e9

int bh_survey_init(bh_survey *survey)
{
    *survey = (bh_survey){.detail = {.heavy = INFINITY, .pin_below = 0}};
    return bh_costs_init(&survey->nominal);
}

void bh_survey_free(bh_survey *survey)
{
    free(survey->group);
    free(survey->pin);
    free(survey->tile);
    free(survey->brief);
    *survey = (bh_survey){.detail = survey->detail, .nominal = survey->nominal};
}

double bh_survey_weight(const bh_survey *survey, const bh_counts *counts)
{
    return NANOSECONDS * app_costs_predict(&survey->nominal, counts->of);
}

void bh_survey_clear(bh_survey *survey, const bh_survey_detail *detail)
{
    survey->detail = *detail;
    survey->n = survey->npins = survey->ntiles = 0;
    survey->group_pins = survey->group_tiles = 0;
}

/* The group at hand, with the pins and tiles that lie behind those of the groups before. */
static int take_in(bh_survey *survey, const bh_work *work, const double centre[3], const bh_counts *counts,
                   int64_t interactions)
{
    int code = eqp_array_reserve(&survey->group, &survey->capacity, survey->n + 1, sizeof *survey->group);

    if (code != EQP_OK) {
        return code;
    }
    bh_surveyed *taken = &survey->group[survey->n++];
    *taken = (bh_surveyed){.key = work->group.key,
                           .part = work->group.part,
                           .count = work->group.count,
                           .home = work->home,
                           .at_home = work->at_home,
                           .tag = work->tag,
                           .counts = *counts,
                           .interactions = interactions,
                           .npins = survey->group_pins,
                           .ntiles = survey->group_tiles};
    memcpy(taken->centre, centre, sizeof taken->centre);
    survey->npins += taken->npins;
    survey->ntiles += taken->ntiles;
    survey->group_pins = survey->group_tiles = 0;
    return EQP_OK;
}

/* A tile as an interaction between the group and the centre of the opened cell. */
static void put_tile(bh_survey *survey, const double group_centre[3], int64_t ntargets, const bh_tile_brief *brief)
{
    bh_survey_tile *tile = &survey->tile[survey->ntiles + survey->group_tiles++];
    const bh_counts work = {.of = {[BH_KIND_PAIR] = brief->nsources * ntargets,
                                   [BH_KIND_CELL] = brief->ncells * ntargets,
                                   [BH_KIND_LISTED] = brief->nsources + brief->ncells,
                                   [BH_KIND_VISIT] = brief->nleaves + brief->ncells}};

    bh_tile_centroid(group_centre, brief->centre, tile->centroid);
    tile->weight = bh_survey_weight(survey, &work);
    /* Only pins that whole groups show as well, or units would not agree about theirs. */
    tile->pin = (uint64_t)brief->pin < survey->detail.pin_below ? brief->pin : -1;
}

static int reserve_tiles(bh_survey *survey, int64_t more)
{
    return eqp_array_reserve(&survey->tile, &survey->tile_capacity, survey->ntiles + survey->group_tiles + more,
                             sizeof *survey->tile);
}

static int reserve_pins(bh_survey *survey, int64_t more)
{
    return eqp_array_reserve(&survey->pin, &survey->pin_capacity, survey->npins + survey->group_pins + more,
                             sizeof *survey->pin);
}

static int put_all_tiles(bh_survey *survey, const double centre[3], const bh_work *work, const bh_tree *tree,
                         const bh_list *list)
{
    int code = reserve_tiles(survey, list->ntiles);

    if (code == EQP_OK) {
        code = eqp_array_reserve(&survey->brief, &survey->brief_capacity, list->ntiles, sizeof *survey->brief);
    }
    if (code == EQP_OK) {
        bh_list_tiles(tree, list, survey->brief);
        for (int64_t t = 0; t < list->ntiles; t++) {
            put_tile(survey, centre, work->group.count, &survey->brief[t]);
        }
    }
    return code;
}

int bh_survey_whole(bh_survey *survey, const bh_work *work, const bh_tree *tree, const bh_list *list,
                    const bh_counts *counts)
{
    double centre[3];
    int code = EQP_OK;

    bh_group_centre(&work->group, centre);
    if (survey->detail.pin_below > 0) {
        code = reserve_pins(survey, list->ntiles + 1);
        if (code == EQP_OK) {
            survey->group_pins = bh_list_pins(tree, list, survey->detail.pin_below, survey->pin + survey->npins);
        }
    }
    if (code == EQP_OK && bh_survey_weight(survey, counts) >= survey->detail.heavy) {
        code = put_all_tiles(survey, centre, work, tree, list);
    }
    return code == EQP_OK ? take_in(survey, work, centre, counts, list->ntiles + 1) : code;
}

void bh_survey_begin(bh_survey_pass *pass, bh_survey *survey, const bh_work *work)
{
    *pass = (bh_survey_pass){.survey = survey, .work = work};
    bh_group_centre(&work->group, pass->centre);
}

/* Of a group that ranks share each knows a part only: its tiles are kept whatever that part weighs. */
int bh_survey_tile_add(bh_survey_pass *pass, const bh_tile *tile)
{
    bh_survey *survey = pass->survey;
    int code = EQP_OK;

    if (survey->detail.heavy < INFINITY) {
        bh_tile_brief brief = {.pin = tile->pin,
                               .nsources = tile->nsources,
                               .ncells = (int32_t)tile->ncells,
                               .nleaves = (int32_t)tile->nleaves};
        memcpy(brief.centre, tile->centre, sizeof brief.centre);
        code = reserve_tiles(survey, 1);
        if (code == EQP_OK) {
            put_tile(survey, pass->centre, pass->work->group.count, &brief);
        }
    }
    if (code == EQP_OK && (uint64_t)tile->pin < survey->detail.pin_below) {
        code = reserve_pins(survey, 1);
        if (code == EQP_OK) {
            survey->pin[survey->npins + survey->group_pins++] = tile->pin;
        }
    }
    return code;
}

int bh_survey_end(bh_survey_pass *pass, const bh_counts *counts, int64_t ntiles)
{
    return take_in(pass->survey, pass->work, pass->centre, counts, ntiles + 1);
}

int bh_survey_add_group(bh_survey *survey, const bh_group *group, int64_t tag, int home, int64_t at_home)
{
    const bh_work work = {.group = *group, .tag = tag, .home = home, .at_home = at_home};
    const bh_counts nothing = {{0}};
    double centre[3];

    bh_group_centre(group, centre);
    return take_in(survey, &work, centre, &nothing, 0);
}
