/* SPDX-License-Identifier: BSD-3-Clause */
/* Boxes of parts meet face to face and have the required width; queries by box or ball return exactly the parts of the
 * points inside. */
#include "harness.h"

#include <equipoise/more/random.h>
#include <equipoise/points.h>

#include <math.h>

#include "failing_ranks.h"

enum { ITEMS = 600, PARTS = 64, PLACES = 800, MANY = 20000 };

/* This rank's items: every size-th, denser towards a corner of the cube [0, 10]^3. */
typedef struct items {
    double x[ITEMS][3], weight[ITEMS];
    int part[ITEMS];
    eqp_points points;
} items;

static double uniform(int i, int k)
{
    return eqp_random_uniform(23, (uint64_t)i, (uint64_t)k);
}

static void make_items(MPI_Comm comm, int n, items *t)
{
    const int rank = mpi_test_rank(comm), size = mpi_test_size(comm);
    int64_t m = 0;

    for (int i = rank; i < n; i += size) {
        for (int a = 0; a < 3; a++) {
            const double u = uniform(i, a);
            t->x[m][a] = 10.0 * u * u;
        }
        t->weight[m++] = 0.5 + uniform(i, 3);
    }
    t->points = (eqp_points){.n = m, .x = t->x, .weight = t->weight};
}

static eqp_balance_options options_of(int nparts, eqp_message *message)
{
    eqp_balance_options options = eqp_balance_options_defaults();

    options.nparts = nparts;
    options.message = message;
    return options;
}

static eqp_walls_options in_the_cube(double least)
{
    eqp_walls_options how = eqp_walls_options_defaults();

    for (int a = 0; a < 3; a++) {
        how.high[a] = 10.0;
        how.least[a] = least;
    }
    return how;
}

/* ---- walls ---- */

/* The volumes add up to the cube, no boxes overlap, no box is too narrow, and find() agrees with the boxes. */
static void check_boxes(const eqp_regions *regions, int nparts, double least)
{
    double low[PARTS][3], high[PARTS][3], volume = 0;

    for (int p = 0; p < nparts; p++) {
        double edges = 1, middle[3];
        CHECK_EQUAL(eqp_regions_walls(regions, p, low[p], high[p]), EQP_OK);
        for (int a = 0; a < 3; a++) {
            CHECK(low[p][a] >= 0 && high[p][a] <= 10);
            CHECK(high[p][a] - low[p][a] >= least * (1 - 1e-12));
            edges *= high[p][a] - low[p][a];
            middle[a] = 0.5 * low[p][a] + 0.5 * high[p][a];
        }
        volume += edges;
        CHECK(!(edges > 0) || eqp_regions_find(regions, middle) == p);
        for (int q = 0; q < p; q++) {
            bool apart = false;
            for (int a = 0; a < 3; a++) {
                apart = apart || low[p][a] >= high[q][a] || low[q][a] >= high[p][a];
            }
            CHECK(apart);
        }
    }
    CHECK_NEAR(volume, 1000, 1e-9);
    CHECK_EQUAL(eqp_regions_walls(regions, nparts, low[0], high[0]), EQP_ERR_ARGUMENT);
}

/* Every box in a grid has the same face as its neighbor; parts are numbered as by MPI_Cart_coords(). */
static void check_grid(const eqp_regions *regions, const int grid[3])
{
    for (int p = 0; p < grid[0] * grid[1] * grid[2]; p++) {
        const int at[3] = {p / (grid[1] * grid[2]), p / grid[2] % grid[1], p % grid[2]}; /* MPI_Cart_coords() */
        const int step[3] = {grid[1] * grid[2], grid[2], 1};
        double low[3], high[3], next_low[3], next_high[3];
        CHECK_EQUAL(eqp_regions_walls(regions, p, low, high), EQP_OK);
        for (int a = 0; a < 3; a++) {
            CHECK(at[a] > 0 || low[a] == 0);
            CHECK(at[a] < grid[a] - 1 || high[a] == 10);
            if (at[a] < grid[a] - 1) {
                CHECK_EQUAL(eqp_regions_walls(regions, p + step[a], next_low, next_high), EQP_OK);
                for (int b = 0; b < 3; b++) {
                    CHECK(b == a ? next_low[b] == high[b] : next_low[b] == low[b] && next_high[b] == high[b]);
                }
            }
        }
    }
}

/* Excess of the heaviest part over the mean. */
static double imbalance_of(MPI_Comm comm, const items *t, const eqp_regions *regions, int nparts)
{
    double load[PARTS] = {0}, most = 0, sum = 0;

    for (int64_t i = 0; i < t->points.n; i++) {
        load[eqp_regions_find(regions, t->x[i])] += t->weight[i];
    }
    CHECK_EQUAL(eqp_sum_double(comm, nparts, load), EQP_OK);
    for (int p = 0; p < nparts; p++) {
        most = fmax(most, load[p]);
        sum += load[p];
    }
    return sum > 0 ? most * nparts / sum - 1 : 0;
}

MPI_TEST(boxes_meet_face_to_face)
{
    static const char *const methods[] = {"tensor", "rcb", "tiles"};
    static const int counts[] = {1, 6, 8, 12, 60};
    static items t;

    for (int k = 0; k < 30; k++) {
        const int nparts = counts[k % 5], wide = k / 15;
        const double least = wide ? (nparts < 60 ? 1.5 : 0.8) : 0;
        const eqp_walls_options how = in_the_cube(least);
        const eqp_method *method = eqp_method_find(methods[k / 5 % 3]);
        eqp_message message = {""};
        const eqp_balance_options options = options_of(nparts, &message);
        eqp_regions *regions = NULL;
        int grid[3] = {-7, -7, -7};
        if (method == NULL) {
            continue;
        }
        make_items(comm, ITEMS, &t);
        const int code = eqp_walls(comm, method, &t.points, &options, &how, grid, &regions);
        if (code == EQP_ERR_STATE && k / 5 % 3 == 2) {
            CHECK(strstr(message.text, "tiles") != NULL); /* its cuts are oblique */
            continue;
        }
        CHECK_EQUAL(code, EQP_OK);
        check_boxes(regions, nparts, least);
        CHECK(k / 5 % 3 != 0 || grid[0] * grid[1] * grid[2] == nparts);
        if (grid[0] > 0) {
            check_grid(regions, grid);
        }
        CHECK(wide || k / 5 % 3 != 1 || imbalance_of(comm, &t, regions, nparts) < 0.02 + 10.0 * nparts / ITEMS);
        eqp_regions_free(regions);
    }
}

/* The part at x = 0, y = 0 and the next two along z have the larger shares. */
MPI_TEST(shares_have_the_numbers_of_the_grid)
{
    static const double share[8] = {0.25, 0.25, 0.083, 0.083, 0.0835, 0.0835, 0.0835, 0.0835};
    static items t;
    eqp_message message = {""};
    eqp_balance_options options = options_of(8, &message);
    const eqp_method *const tensor = eqp_method_find("tensor");
    const eqp_walls_options how = in_the_cube(0);
    eqp_regions *regions = NULL;
    double load[8] = {0};
    int grid[3];

    for (int a = 0; a < 3; a++) {
        CHECK_EQUAL(eqp_method_set(tensor, (const char *[]){"x", "y", "z"}[a], "2", &options.settings, NULL), EQP_OK);
    }
    options.share = share;
    make_items(comm, ITEMS, &t);
    CHECK_EQUAL(eqp_walls(comm, tensor, &t.points, &options, &how, grid, &regions), EQP_OK);
    CHECK(grid[0] == 2 && grid[1] == 2 && grid[2] == 2);
    for (int64_t i = 0; i < t.points.n; i++) {
        load[eqp_regions_find(regions, t.x[i])] += t.weight[i];
    }
    CHECK_EQUAL(eqp_sum_double(comm, 8, load), EQP_OK);
    for (int p = 2; p < 8; p++) {
        CHECK(load[0] > load[p] && load[1] > load[p]);
    }
    eqp_regions_free(regions);
}

/* Without items the parts are alike; with all items at one place there are walls, too. */
MPI_TEST(parts_without_items_have_walls)
{
    static items t;
    eqp_message message = {""};
    const eqp_balance_options options = options_of(8, &message);
    const eqp_walls_options how = in_the_cube(5);
    const eqp_method *const tensor = eqp_method_find("tensor");
    eqp_regions *regions = NULL;
    int grid[3];

    make_items(comm, 0, &t);
    CHECK_EQUAL(eqp_walls(comm, tensor, &t.points, &options, &how, grid, &regions), EQP_OK);
    check_boxes(regions, 8, 5);
    check_grid(regions, grid);
    eqp_regions_free(regions);
    make_items(comm, ITEMS, &t);
    memset(t.x, 0, sizeof t.x);
    CHECK_EQUAL(eqp_walls(comm, tensor, &t.points, &options, NULL, grid, &regions), EQP_OK);
    eqp_regions_free(regions);
}

MPI_TEST(what_has_no_walls_is_refused_with_the_reason)
{
    static items t;
    eqp_message message = {""};
    const eqp_balance_options options = options_of(40, &message);
    const eqp_method *const tensor = eqp_method_find("tensor");
    eqp_walls_options how = in_the_cube(0);
    eqp_regions *regions = NULL;
    int grid[3] = {-7, -7, -7};

    make_items(comm, ITEMS, &t);
    CHECK_EQUAL(eqp_walls(comm, eqp_method_find("sfc"), &t.points, &options, &how, grid, &regions), EQP_ERR_STATE);
    CHECK(strstr(message.text, "sfc") != NULL && strstr(message.text, "walls") != NULL);
    how.least[1] = 10.1;
    CHECK_EQUAL(eqp_walls(comm, tensor, &t.points, &options, &how, grid, &regions), EQP_ERR_CAPACITY);
    CHECK(strstr(message.text, "width") != NULL);
    how = in_the_cube(0);
    how.high[2] = 1;
    CHECK_EQUAL(eqp_walls(comm, tensor, &t.points, &options, &how, grid, &regions), EQP_ERR_DATA);
    CHECK(strstr(message.text, "domain") != NULL);
    CHECK(grid[0] == -7 && regions == NULL);
}

/* Every item is found in its part, and parts separated by walls have their shares. */
static void check_flat(MPI_Comm comm, items *t, const char *name)
{
    eqp_message message = {""};
    const eqp_balance_options options = options_of(6, &message);
    const eqp_method *const method = eqp_method_find(name);
    const eqp_walls_options how = in_the_cube(0);
    eqp_regions *regions = NULL;
    int grid[3];

    CHECK_EQUAL(eqp_balance_points(comm, method, &t->points, &options, t->part, NULL), EQP_OK);
    CHECK_EQUAL(eqp_regions_create(comm, &t->points, t->part, 6, &regions, NULL), EQP_OK);
    for (int64_t i = 0; i < t->points.n; i++) {
        CHECK_EQUAL(eqp_regions_find(regions, t->x[i]), t->part[i]);
    }
    eqp_regions_free(regions);
    if (strcmp(name, "sfc") != 0) {
        CHECK_EQUAL(eqp_walls(comm, method, &t->points, &options, &how, grid, &regions), EQP_OK);
        check_boxes(regions, 6, 0);
        CHECK(imbalance_of(comm, t, regions, 6) < 0.3);
        eqp_regions_free(regions);
    }
}

MPI_TEST(items_in_planes_and_lines_are_told_apart)
{
    static const char *const methods[] = {"tensor", "sfc", "rcb"};
    static items t;

    for (int k = 0; k < 6; k++) {
        make_items(comm, ITEMS, &t);
        for (int64_t j = 0; j < 3 * t.points.n; j++) {
            const bool odd = j % 3 == k % 3;
            t.x[j / 3][j % 3] = odd == (k < 3) ? 5.0 : t.x[j / 3][j % 3]; /* in a plane, along an axis */
        }
        for (int m = 0; m < 3; m++) {
            if (eqp_method_find(methods[m]) != NULL) {
                check_flat(comm, &t, methods[m]);
            }
        }
        for (int64_t i = 0; i < t.points.n; i++) {
            t.part[i] = (int)(i % 2);
        }
        eqp_regions *regions = NULL;
        eqp_message message = {""};
        CHECK_EQUAL(eqp_regions_create(comm, &t.points, t.part, 2, &regions, &message), EQP_ERR_STATE);
        CHECK(strstr(message.text, "no walls") != NULL && strstr(message.text, "curve") != NULL);
    }
}

/* ---- parts that a box or a ball touches ---- */

/* A query and a point within its reach. */
typedef struct question {
    double low[3], high[3], reach;
    const double *domain;
} question;

static question ask(int k, const double *domain)
{
    question q = {.reach = k % 3 == 0 ? 0.0 : 0.3 + 2.0 * uniform(k, 7), .domain = domain};

    for (int a = 0; a < 3; a++) {
        q.low[a] = 11.0 * uniform(k, a) - 0.5;
        q.high[a] = k % 3 == 1 ? q.low[a] : q.low[a] + 3.0 * uniform(k, 3 + a);
    }
    return q;
}

/* Distance of a place from the query's box; with a domain, of its nearest image. */
static double away(const question *q, const double place[3])
{
    double sum = 0;

    for (int a = 0; a < 3; a++) {
        double gap = INFINITY;
        for (int image = -10 * (q->domain != NULL); image <= 10 * (q->domain != NULL); image += 10) {
            gap = fmin(gap, fmax(fmax(q->low[a] - place[a] - image, place[a] + image - q->high[a]), 0));
        }
        sum += gap * gap;
    }
    return sqrt(sum);
}

static void place_in(const question *q, int k, int i, double place[3])
{
    double off[3], length = 0;

    for (int a = 0; a < 3; a++) {
        place[a] = q->low[a] + (q->high[a] - q->low[a]) * uniform(1000 + k, 6 * i + a);
        off[a] = 2.0 * uniform(1000 + k, 6 * i + 3 + a) - 1.0;
        length += off[a] * off[a];
    }
    for (int a = 0; a < 3; a++) {
        place[a] += length <= 1 ? q->reach * off[a] : 0;
        if (q->domain != NULL) {
            place[a] -= 10.0 * floor(place[a] / 10.0);
        }
    }
}

/* True if one of many points sampled around a part's items belongs to the part and is within reach. */
static bool is_met(const eqp_regions *regions, const question *q, int part)
{
    double low[3], high[3];

    CHECK_EQUAL(eqp_regions_box(regions, part, low, high), EQP_OK);
    for (int i = 0; i < PLACES; i++) {
        double place[3];
        for (int a = 0; a < 3; a++) {
            const double widened = 0.3 * (high[a] - low[a]) + 0.1;
            place[a] = low[a] - widened + (high[a] - low[a] + 2 * widened) * uniform(2000 + part, 3 * i + a);
            place[a] = q->domain != NULL ? fmin(fmax(place[a], 0), 9.999) : place[a];
        }
        if (away(q, place) <= q->reach && eqp_regions_find(regions, place) == part) {
            return true;
        }
    }
    return false;
}

/* The query returns the part of every sampled point; it returns hardly any part without a sampled point. */
static void check_touch(const eqp_regions *regions, int nparts, int k, const double *domain, int *named, int *unmet)
{
    const question q = ask(k, domain);
    bool met[PARTS] = {false}, is[PARTS] = {false};
    int part[PARTS], n = -1;

    CHECK_EQUAL(eqp_regions_touch(regions, q.low, q.high, q.reach, q.domain, part, &n), EQP_OK);
    CHECK(n >= 1 && n <= nparts);
    for (int i = 0; i < n; i++) {
        CHECK(part[i] >= 0 && part[i] < nparts && (i == 0 || part[i - 1] < part[i]));
        is[part[i]] = true;
    }
    for (int i = 0; i < PLACES; i++) {
        double place[3];
        place_in(&q, k, i, place);
        const int found = eqp_regions_find(regions, place);
        CHECK(is[found]);
        met[found] = true;
    }
    *named += n;
    for (int i = 0; i < n; i++) {
        bool found = met[part[i]] || is_met(regions, &q, part[i]);
        for (int j = 0; !found && j < MANY; j++) { /* cells extend far beyond their items */
            double place[3];
            for (int a = 0; a < 3; a++) {
                place[a] = q.low[a] - q.reach + (q.high[a] - q.low[a] + 2 * q.reach) * uniform(3000 + k, 3 * j + a);
                place[a] -= domain != NULL ? 10.0 * floor(place[a] / 10.0) : 0;
            }
            found = away(&q, place) <= q.reach && eqp_regions_find(regions, place) == part[i];
        }
        *unmet += !found;
    }
}

MPI_TEST(boxes_and_balls_touch_the_parts_of_their_places)
{
    static const char *const methods[] = {"sfc", "rcb", "count", "tensor", "voronoi"};
    static const double cube[6] = {0, 0, 0, 10, 10, 10};
    static items t;

    for (int m = 0; m < 5; m++) {
        for (int nparts = 1; nparts <= PARTS && eqp_method_find(methods[m]) != NULL; nparts *= 8) {
            eqp_message message = {""};
            eqp_balance_options options = options_of(nparts, &message);
            eqp_regions *regions = NULL;
            int named = 0, unmet = 0;
            make_items(comm, ITEMS, &t);
            options.regions = m >= 3 ? &regions : NULL;
            CHECK_EQUAL(eqp_balance_points(comm, eqp_method_find(methods[m]), &t.points, &options, t.part, NULL),
                        EQP_OK);
            CHECK_EQUAL(m >= 3 ? EQP_OK : eqp_regions_create(comm, &t.points, t.part, nparts, &regions, NULL), EQP_OK);
            for (int64_t i = 0; i < t.points.n && m == 4; i++) {
                CHECK_EQUAL(eqp_regions_find(regions, t.x[i]), t.part[i]);
            }
            for (int k = 0; k < 12; k++) {
                check_touch(regions, nparts, k, k % 2 ? cube : NULL, &named, &unmet);
            }
            CHECK(unmet <= (m == 4 ? named / 10 : 0)); /* cells not excluded by the search */
            eqp_regions_free(regions);
        }
    }
}

MPI_TEST(places_of_any_size_touch_their_parts)
{
    static const double scales[] = {1.7e307, 1e-307, 1e-321};
    static items t;
    const eqp_balance_options options = options_of(8, NULL);

    for (int k = 0; k < 3; k++) {
        eqp_regions *regions = NULL;
        make_items(comm, ITEMS, &t);
        for (int64_t j = 0; j < 3 * t.points.n; j++) {
            t.x[j / 3][j % 3] *= scales[k];
        }
        CHECK_EQUAL(eqp_balance_points(comm, eqp_method_find("sfc"), &t.points, &options, t.part, NULL), EQP_OK);
        CHECK_EQUAL(eqp_regions_create(comm, &t.points, t.part, 8, &regions, NULL), EQP_OK);
        for (int64_t i = 0; i < t.points.n; i++) {
            const int found = eqp_regions_find(regions, t.x[i]);
            int part[PARTS], n = 0, at = 0;
            CHECK_EQUAL(eqp_regions_touch(regions, t.x[i], t.x[i], 0, NULL, part, &n), EQP_OK);
            while (at < n && part[at] != found) {
                at++;
            }
            CHECK(at < n && n < 8);
        }
        eqp_regions_free(regions);
    }
}

/* Cells of any size, of coincident items, at any distance: the query misses no part of a point. A method without
 * regions is refused. */
MPI_TEST(cells_come_with_their_parts)
{
    static const double far[][3] = {{-30, 5, 5}, {1e9, -1e9, 2}, {1e308, -1e308, 1e308}};
    static items t;
    eqp_message message = {""};
    eqp_balance_options options = options_of(9, &message);
    eqp_regions *regions = NULL;
    int part[PARTS], n = 0;

    for (int k = 0; k < 4; k++) {
        make_items(comm, k == 3 ? 4 : ITEMS, &t);
        for (int64_t j = 0; j < 3 * t.points.n; j++) {
            const double grid = floor(t.x[j / 3][j % 3]);
            t.x[j / 3][j % 3] = k == 0 ? t.x[j / 3][j % 3] * 1e-300 : k == 1 && j % 3 == 2 ? 5 : grid;
        }
        options.regions = &regions;
        CHECK_EQUAL(eqp_balance_points(comm, eqp_method_find("voronoi"), &t.points, &options, t.part, NULL), EQP_OK);
        for (int i = 0; i < 40; i++) {
            const double *const at = i < 3 ? far[i] : t.points.n > i ? t.x[i] : far[0];
            const int found = eqp_regions_find(regions, at);
            CHECK(found >= 0 && found < 9);
            CHECK(at == far[0] || i < 3 || found == t.part[i]);
            CHECK_EQUAL(eqp_regions_touch(regions, at, at, i % 2 ? 0.5 : 0, NULL, part, &n), EQP_OK);
            bool named = false;
            for (int p = 0; p < n; p++) {
                named = named || part[p] == found;
            }
            CHECK(named);
        }
        CHECK_EQUAL(eqp_regions_walls(regions, 0, t.x[0], t.x[1]), EQP_ERR_STATE);
        eqp_regions_free(regions);
        regions = NULL;
    }
    make_items(comm, ITEMS, &t);
    t.part[0] = -7;
    CHECK_EQUAL(eqp_balance_points(comm, eqp_method_find("diffusion"), &t.points, &options, t.part, NULL),
                EQP_ERR_STATE);
    CHECK(strstr(message.text, "regions of diffusion") != NULL && regions == NULL && t.part[0] == -7);
    t.points.n = 0;
    CHECK_EQUAL(eqp_balance_points(comm, eqp_method_find("voronoi"), &t.points, &options, t.part, NULL), EQP_OK);
    CHECK_EQUAL(eqp_regions_find(regions, far[0]), -1);
    CHECK(eqp_regions_touch(regions, far[0], far[0], 1, NULL, part, &n) == EQP_OK && n == 0);
    eqp_regions_free(regions);
}

/* Brute force: the distances of all boxes from all balls. */
MPI_TEST(balls_touch_exactly_the_boxes_that_are_near)
{
    static items t;
    eqp_message message = {""};
    const eqp_balance_options options = options_of(PARTS, &message);
    const eqp_walls_options how = in_the_cube(0.1);
    eqp_regions *regions = NULL;
    int grid[3], part[PARTS], n = 0;

    make_items(comm, ITEMS, &t);
    CHECK_EQUAL(eqp_walls(comm, eqp_method_find("tensor"), &t.points, &options, &how, grid, &regions), EQP_OK);
    for (int k = 0; k < 60; k++) {
        const question q = ask(k, NULL);
        CHECK_EQUAL(eqp_regions_touch(regions, q.low, q.high, q.reach, NULL, part, &n), EQP_OK);
        for (int p = 0, next = 0; p < PARTS; p++) {
            double low[3], high[3], sum = 0;
            CHECK_EQUAL(eqp_regions_walls(regions, p, low, high), EQP_OK);
            for (int a = 0; a < 3; a++) {
                const double gap = fmax(fmax(low[a] - q.high[a], q.low[a] - high[a]), 0);
                sum += gap * gap;
            }
            const bool named = next < n && part[next] == p;
            next += named;
            CHECK(named == (sqrt(sum) <= q.reach));
        }
    }
    const double far[3] = {-1e308, 1e308, 0}, nowhere[3] = {NAN, 0, 0};
    CHECK_EQUAL(eqp_regions_touch(regions, far, far, 1e308, NULL, part, &n), EQP_OK);
    CHECK_EQUAL(eqp_regions_touch(regions, nowhere, far, 0, NULL, part, &n), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(eqp_regions_touch(regions, far, far, -1, NULL, part, &n), EQP_ERR_ARGUMENT);
    eqp_regions_free(regions);
}

/* user: not used */
static int without_memory(MPI_Comm comm, void *user)
{
    static items t;
    const eqp_balance_options options = options_of(4, NULL);
    eqp_regions *regions = NULL;
    int grid[3] = {-7, -7, -7};

    (void)user;
    make_items(comm, 24, &t);
    failing_ranks_begin();
    const int code = eqp_walls(comm, eqp_method_find("tensor"), &t.points, &options, NULL, grid, &regions);
    failing_ranks_end();
    CHECK((regions == NULL) == (code != EQP_OK) && (grid[0] == -7) == (code != EQP_OK));
    eqp_regions_free(regions);
    return code;
}

MPI_TEST(walls_fail_on_all_ranks_or_on_none)
{
    CHECK(failing_ranks_check(comm, without_memory, NULL) > 0);
}
