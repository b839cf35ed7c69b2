/* SPDX-License-Identifier: BSD-3-Clause */
#include "survey.h"

#include <equipoise/more/base.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

void bh_survey_free(bh_survey *survey)
{
    free(survey->brief);
    *survey = (bh_survey){.brief = NULL};
}

void bh_survey_turns(const bh_survey *survey, const bh_task *task, const bh_counts *all, bh_turns *turns)
{
    turns->n = eqp_survey_phases(survey->owners);
    for (int t = 0; t < turns->n; t++) {
        for (int k = 0; k < BH_KINDS; k++) {
            const bool each = k == BH_KIND_PAIR || k == BH_KIND_CELL;
            turns->of[t].of[k] = each ? all->of[k] / task->group.count * task->on[t] : task->on[t] > 0 ? all->of[k] : 0;
        }
    }
}

/* The work of a whole step. */
static bh_counts in_cycle(const bh_turns *turns)
{
    bh_counts sum = turns->of[0];

    for (int t = 1; t < turns->n; t++) {
        for (int k = 0; k < BH_KINDS; k++) {
            sum.of[k] += bh_phase_turns(t) * turns->of[t].of[k];
        }
    }
    return sum;
}

static int add_phases(eqp_survey *owners, const bh_turns *turns)
{
    double load[EQP_CYCLE_PHASES];

    for (int t = 0; t < turns->n; t++) {
        load[t] = eqp_survey_weigh(owners, turns->of[t].of);
    }
    return turns->n > 1 ? eqp_survey_add_phases(owners, load) : EQP_OK;
}

/* Nanoseconds of a tile in a whole step: the targets of each substep interact with all of it. */
static double weigh_tile(eqp_survey *owners, const bh_task *of, const bh_tile_brief *brief)
{
    const int n = eqp_survey_phases(owners);
    int64_t targets = of->on[0], lists = 1;

    for (int t = 1; t < n && of->on[t] > 0; t++) {
        targets += bh_phase_turns(t) * of->on[t];
        lists += bh_phase_turns(t);
    }
    const int64_t work[BH_KINDS] = {[BH_KIND_PAIR] = brief->nsources * targets,
                                    [BH_KIND_CELL] = brief->ncells * targets,
                                    [BH_KIND_LISTED] = (brief->nsources + brief->ncells) * lists,
                                    [BH_KIND_VISIT] = brief->nchild * lists};
    return eqp_survey_weigh(owners, work);
}

/* Adds the group after its pins and tiles. */
static int take_in(eqp_survey *owners, const bh_task *task, const double centre[3], const bh_counts *counts,
                   int64_t interactions)
{
    eqp_owner owner = {.key = task->group.key,
                       .id = task->group.part,
                       .pin = -1, /* all pins are cells */
                       .particles = task->group.count,
                       .home = task->home,
                       .at_home = task->at_home,
                       .bytes = (int64_t)task->group.count *
                                bh_particles_bytes(false), /* without the rung, which does not matter */
                       .tag = task->tag,
                       .label = task->label,
                       .interactions = interactions};

    memcpy(owner.centre, centre, sizeof owner.centre);
    memcpy(owner.count, counts->of, sizeof counts->of);
    return eqp_survey_add_owner(owners, &owner);
}

/* A tile as an interaction between the group and the centre of the opened cell. factor: of its weight. */
static int add_tile(eqp_survey *owners, const double group_centre[3], const bh_task *of, double factor,
                    const bh_tile_brief *brief)
{
    /* Only pins that whole groups have as well; otherwise pins of units would differ. */
    eqp_tile tile = {.weight = factor * weigh_tile(owners, of, brief),
                     .pin = {(uint64_t)brief->pin < eqp_survey_pin_below(owners) ? brief->pin : -1, -1}};

    bh_tile_centroid(group_centre, brief->centre, tile.centroid);
    return eqp_survey_add_tile(owners, &tile);
}

static int add_pins(eqp_survey *owners, const bh_tree *tree, const bh_list *list)
{
    int64_t *pin;
    int code;

    EQP_TRY(eqp_survey_room_for_pins(owners, list->ntiles + 1, &pin));
    EQP_TRY(eqp_survey_took_pins(owners, bh_list_pins(tree, list, eqp_survey_pin_below(owners), pin)));
done:
    return code;
}

static int add_all_tiles(bh_survey *survey, const double centre[3], const bh_task *task, double factor,
                         const bh_tree *tree, const bh_list *list)
{
    int code;

    EQP_TRY(eqp_array_reserve(&survey->brief, &survey->brief_capacity, list->ntiles, sizeof *survey->brief));
    bh_list_tiles(tree, list, survey->brief);
    for (int64_t t = 0; t < list->ntiles; t++) {
        EQP_TRY(add_tile(survey->owners, centre, task, factor, &survey->brief[t]));
    }
done:
    return code;
}

int bh_survey_whole(bh_survey *survey, const bh_task *task, const bh_tree *tree, const bh_list *list,
                    const bh_turns *turns)
{
    const bh_counts all = in_cycle(turns);
    const double weight = eqp_survey_weigh(survey->owners, all.of);
    double centre[3];
    bh_turns same;
    int code = EQP_OK;

    bh_group_centre(&task->group, centre);
    if (eqp_survey_pin_below(survey->owners) > 0) {
        code = add_pins(survey->owners, tree, list);
    }
    if (code == EQP_OK && weight >= eqp_survey_heavy(survey->owners)) {
        /* Tiles are those of all targets: lists of fewer of them are shorter. */
        bh_survey_turns(survey, task, &turns->of[0], &same);
        const bh_counts most = in_cycle(&same);
        const double longest = eqp_survey_weigh(survey->owners, most.of);
        code = add_all_tiles(survey, centre, task, longest > 0 ? weight / longest : 1.0, tree, list);
    }
    code = code == EQP_OK ? add_phases(survey->owners, turns) : code;
    return code == EQP_OK ? take_in(survey->owners, task, centre, &all, list->ntiles + 1) : code;
}

void bh_survey_begin(bh_survey_share *share, bh_survey *survey, const bh_task *task)
{
    *share = (bh_survey_share){.owners = survey->owners, .task = task};
    bh_group_centre(&task->group, share->centre);
}

/* A rank knows only its part of a shared group, so its tiles are kept whatever that part weighs. */
int bh_survey_tile_add(bh_survey_share *share, const bh_tile *tile)
{
    int code = EQP_OK;

    if (eqp_survey_heavy(share->owners) < INFINITY) {
        bh_tile_brief brief = {.pin = tile->pin,
                               .nchild = (int32_t)tile->nchild,
                               .nsources = tile->nsources,
                               .ncells = (int32_t)tile->ncells,
                               .nleaves = (int32_t)tile->nleaves};
        memcpy(brief.centre, tile->centre, sizeof brief.centre);
        code = add_tile(share->owners, share->centre, share->task, 1.0, &brief);
    }
    if (code == EQP_OK && (uint64_t)tile->pin < eqp_survey_pin_below(share->owners)) {
        code = eqp_survey_add_pin(share->owners, tile->pin);
    }
    return code;
}

/* The walk of a share visits more cells than its tiles contain. These visits move with the tiles, so their cost is
 * spread over them. */
static int spread_visits(eqp_survey *owners, const bh_counts *counts)
{
    bh_counts all = *counts;

    all.of[BH_KIND_GROUP] = 0;
    return eqp_survey_raise_tiles(owners, eqp_survey_weigh(owners, all.of));
}

int bh_survey_end(bh_survey_share *share, const bh_turns *turns, int64_t ntiles)
{
    const bh_counts all = in_cycle(turns);
    int code;

    EQP_TRY(spread_visits(share->owners, &all));
    EQP_TRY(add_phases(share->owners, turns));
    EQP_TRY(take_in(share->owners, share->task, share->centre, &all, ntiles + 1));
done:
    return code;
}

int bh_survey_add_group(eqp_survey *owners, const bh_group *group, int64_t tag, int64_t label, int home,
                        int64_t at_home)
{
    const bh_task task = {.group = *group, .tag = tag, .label = label, .home = home, .at_home = at_home};
    const bh_counts nothing = {{0}};
    double centre[3];

    bh_group_centre(group, centre);
    return take_in(owners, &task, centre, &nothing, 0);
}
