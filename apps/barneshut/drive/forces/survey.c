/* SPDX-License-Identifier: BSD-3-Clause */
#include "evaluate.h"

#include <equipoise/more/base.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

void bh_survey_turns(const eqp_survey *owners, const bh_task *task, const bh_counts *all, bh_turns *turns)
{
    turns->n = eqp_survey_phases(owners);
    for (int t = 0; t < turns->n; t++) {
        for (int k = 0; k < BH_KINDS; k++) {
            const bool each = k == BH_KIND_PAIR || k == BH_KIND_CELL;
            turns->of[t].of[k] = each ? all->of[k] / task->group.count * task->on[t] : task->on[t] > 0 ? all->of[k] : 0;
        }
    }
}

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

/* Nanoseconds of a tile in all substeps of a step; the targets of each interact with the whole tile. */
static double weigh_tile(eqp_survey *owners, const bh_task *of, const bh_opened *opened)
{
    const int n = eqp_survey_phases(owners);
    int64_t targets = of->on[0], lists = 1;

    for (int t = 1; t < n && of->on[t] > 0; t++) {
        targets += bh_phase_turns(t) * of->on[t];
        lists += bh_phase_turns(t);
    }
    const int64_t work[BH_KINDS] = {[BH_KIND_PAIR] = opened->nsources * targets,
                                    [BH_KIND_CELL] = opened->ncells * targets,
                                    [BH_KIND_LISTED] = (opened->nsources + opened->ncells) * lists,
                                    [BH_KIND_VISIT] = opened->nchild * lists};
    return eqp_survey_weigh(owners, work);
}

static int take_in(eqp_survey *owners, const bh_task *task, const double centre[3], const bh_counts *counts,
                   int64_t interactions)
{
    eqp_owner owner = {.key = task->group.key,
                       .id = task->group.part,
                       .pin = -1,
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

/* A tile as an interaction between the group and the centre of the opened cell. factor: on its weight. */
static int add_tile(eqp_survey *owners, const double group_centre[3], const bh_task *of, double factor,
                    const bh_opened *opened)
{
    /* Keeps only pins that whole groups have too; otherwise pins of units would differ. */
    eqp_tile tile = {.weight = factor * weigh_tile(owners, of, opened),
                     .pin = {(uint64_t)opened->pin < eqp_survey_pin_below(owners) ? opened->pin : -1, -1}};

    bh_tile_centroid(group_centre, opened->centre, tile.centroid);
    return eqp_survey_add_tile(owners, &tile);
}

static int add_pins(eqp_survey *owners, const bh_tree *tree, const bh_list *list)
{
    int64_t *pin;

    EQP_CHECK(eqp_survey_room_for_pins(owners, list->ntiles + 1, &pin));
    return eqp_survey_took_pins(owners, bh_list_pins(tree, list, eqp_survey_pin_below(owners), pin));
}

static int add_all_tiles(eqp_survey *owners, const double centre[3], const bh_task *task, double factor,
                         const bh_tree *tree, const bh_list *list)
{
    const int64_t n = bh_opened_count(list);

    for (int64_t i = 0; i < n; i++) {
        bh_opened opened;
        bh_opened_get(tree, list, i, &opened);
        if (opened.ncells + opened.nleaves > 0) {
            EQP_CHECK(add_tile(owners, centre, task, factor, &opened));
        }
    }
    return EQP_OK;
}

int bh_survey_whole(eqp_survey *owners, const bh_task *task, const bh_tree *tree, const bh_list *list,
                    const bh_turns *turns)
{
    const bh_counts all = in_cycle(turns);
    const double weight = eqp_survey_weigh(owners, all.of);
    double centre[3];
    bh_turns same;

    bh_group_centre(&task->group, centre);
    if (eqp_survey_pin_below(owners) > 0) {
        EQP_CHECK(add_pins(owners, tree, list));
    }
    if (weight >= eqp_survey_heavy(owners)) {
        /* Tiles are those of all targets; lists of fewer targets are shorter. */
        bh_survey_turns(owners, task, &turns->of[0], &same);
        const bh_counts most = in_cycle(&same);
        const double longest = eqp_survey_weigh(owners, most.of);
        EQP_CHECK(add_all_tiles(owners, centre, task, longest > 0 ? weight / longest : 1.0, tree, list));
    }
    EQP_CHECK(add_phases(owners, turns));
    return take_in(owners, task, centre, &all, list->ntiles + 1);
}

/* A rank knows only its part of a shared group, so it keeps all tiles, however light. */
static int add_share_tile(eqp_survey *owners, const double centre[3], const bh_task *task, const bh_opened *opened)
{
    if (eqp_survey_heavy(owners) < INFINITY) {
        EQP_CHECK(add_tile(owners, centre, task, 1.0, opened));
    }
    if ((uint64_t)opened->pin < eqp_survey_pin_below(owners)) {
        EQP_CHECK(eqp_survey_add_pin(owners, opened->pin));
    }
    return EQP_OK;
}

/* The walk of a share visits more cells than its tiles contain. These visits move with the tiles, so their cost is
 * spread over the tiles. */
static int spread_visits(eqp_survey *owners, const bh_counts *counts)
{
    bh_counts all = *counts;

    all.of[BH_KIND_GROUP] = 0;
    return eqp_survey_raise_tiles(owners, eqp_survey_weigh(owners, all.of));
}

int bh_survey_share(eqp_survey *owners, const bh_task *task, const bh_tree *tree, const bh_list *list,
                    const bh_turns *turns)
{
    const bh_counts all = in_cycle(turns);
    double centre[3];

    bh_group_centre(&task->group, centre);
    for (int64_t i = bh_opened_count(list) > 0 ? 0 : -1; i >= 0; i = bh_opened_next(list, i)) {
        bh_opened opened;
        bh_opened_get(tree, list, i, &opened);
        EQP_CHECK(opened.ncells + opened.nleaves > 0 ? add_share_tile(owners, centre, task, &opened) : EQP_OK);
    }
    EQP_CHECK(spread_visits(owners, &all));
    EQP_CHECK(add_phases(owners, turns));
    return take_in(owners, task, centre, &all, list->ntiles + 1);
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
