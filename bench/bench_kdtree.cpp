// SPDX-License-Identifier: BSD-3-Clause
// The k-d tree against nanoflann in three dimensions: building, and the nearest point of many places. CSV.
//
//   build/bench/bench_kdtree 1000
//   build/bench/bench_kdtree 1000000 random
//
// Arguments: the number of points, then the only order of points and queries (curve, random) to measure, else both.
// Points are uniform or of a Plummer sphere; our tree copies its points. Queries are
// "near", points of the set moved by 0.3 of the local mean distance, or "uniform" in the points' box. Times are medians
// of CPU seconds; the two libraries take turns. "best" rows use the leaf size of each library with which it found these
// nearest points fastest, "same" rows 10. "differ" counts the queries for which the libraries found different
// distances; ratios are theirs / ours.
#include "timing.h"

#include <equipoise/more/curve.h>
#include <equipoise/more/kdtree.h>
#include <equipoise/more/random.h>
#include <equipoise/survey.h>

#include <nanoflann.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace
{

const int repetitions = 5;
const size_t queries_per_run = 100000;
const uint64_t seed = 20240607;
const std::vector<int> leaves = {10, 6, 8, 16, 24, 32}; // the first one is that of leaf=same

struct point {
    double x[3];
};

// Points and places as one array of a library's user.
struct cloud {
    std::vector<double> x;

    explicit cloud(const std::vector<point> &from)
    {
        for (const point &p : from) {
            x.insert(x.end(), {p.x[0], p.x[1], p.x[2]});
        }
    }
    size_t kdtree_get_point_count() const
    {
        return x.size() / 3;
    }
    double kdtree_get_pt(size_t i, size_t d) const
    {
        return x[3 * i + d];
    }
    template <class Box> bool kdtree_get_bbox(Box &) const
    {
        return false;
    }
};

class our_tree
{
    eqp_kdtree *tree = nullptr;

  public:
    our_tree(const cloud &points, int leaf_size)
    {
        eqp_kdtree_options options = eqp_kdtree_options_defaults();
        options.leaf_size = leaf_size;
        if (eqp_kdtree_create(static_cast<int64_t>(points.kdtree_get_point_count()), 3, points.x.data(), &options,
                              &tree) != EQP_OK) {
            bench_die("cannot build our tree");
        }
    }
    our_tree(const our_tree &) = delete;
    our_tree &operator=(const our_tree &) = delete;
    ~our_tree()
    {
        eqp_kdtree_free(tree);
    }

    void nearest(const cloud &places, std::vector<double> &dist2) const
    {
        for (size_t i = 0; i < places.kdtree_get_point_count(); i++) {
            int64_t index = -1;
            if (eqp_kdtree_nearest(tree, &places.x[3 * i], &index, &dist2[i]) != EQP_OK) {
                bench_die("our search failed");
            }
        }
    }
};

class their_tree
{
    using metric = nanoflann::L2_Simple_Adaptor<double, cloud>;
    nanoflann::KDTreeSingleIndexAdaptor<metric, cloud, 3, uint32_t> tree;

  public:
    their_tree(const cloud &points, int leaf_size)
        : tree(3, points, nanoflann::KDTreeSingleIndexAdaptorParams(static_cast<size_t>(leaf_size)))
    {
    }

    void nearest(const cloud &places, std::vector<double> &dist2) const
    {
        for (size_t i = 0; i < places.kdtree_get_point_count(); i++) {
            uint32_t index = 0;
            nanoflann::KNNResultSet<double, uint32_t> found(1);
            found.init(&index, &dist2[i]);
            tree.findNeighbors(found, &places.x[3 * i], nanoflann::SearchParams());
        }
    }
};

double draw(uint64_t stream, size_t counter)
{
    return eqp_random_uniform(seed, stream, counter);
}

// Places on the unit sphere: H. C. Plummer's sphere has no preferred direction.
point direction(uint64_t stream, size_t i)
{
    const double z = 2 * draw(stream, i) - 1, angle = 2 * std::acos(-1.0) * draw(stream + 1, i);
    const double r = std::sqrt(1 - z * z);

    return {{r * std::cos(angle), r * std::sin(angle), z}};
}

// The innermost 99.9 % of a Plummer sphere of scale length 1.
point plummer_point(size_t i)
{
    const double r = 1 / std::sqrt(std::pow(0.999 * draw(3, i) + 1e-12, -2.0 / 3) - 1);
    point p = direction(4, i);

    for (double &x : p.x) {
        x *= r;
    }
    return p;
}

// Points `first` to `first` + n - 1 of an endless set.
std::vector<point> make_points(size_t first, size_t n, bool plummer)
{
    std::vector<point> points;

    for (size_t i = first; i < first + n; i++) {
        points.push_back(plummer ? plummer_point(i) : point{{draw(0, i), draw(1, i), draw(2, i)}});
    }
    return points;
}

// Mean distance of neighbours around a point.
double spacing(const point &p, size_t n, bool plummer)
{
    const double r2 = p.x[0] * p.x[0] + p.x[1] * p.x[1] + p.x[2] * p.x[2];
    const double volume = plummer ? 4 * std::acos(-1.0) / 3 * std::pow(1 + r2, 2.5) : 1;

    return std::cbrt(volume / static_cast<double>(n));
}

void find_box(const std::vector<point> &points, point &low, point &high)
{
    low = high = points[0];
    for (const point &p : points) {
        for (int d = 0; d < 3; d++) {
            low.x[d] = std::min(low.x[d], p.x[d]);
            high.x[d] = std::max(high.x[d], p.x[d]);
        }
    }
}

std::vector<point> make_queries(const std::vector<point> &points, bool plummer, bool near)
{
    std::vector<point> queries(queries_per_run);
    point low, high;

    find_box(points, low, high);
    for (size_t i = 0; i < queries.size(); i++) {
        const auto chosen = eqp_random_below(seed, 6, i, points.size());
        const point away = direction(7, i);
        const point &p = points[chosen];
        for (int d = 0; d < 3; d++) {
            queries[i].x[d] = near ? p.x[d] + 0.3 * spacing(p, points.size(), plummer) * away.x[d]
                                   : low.x[d] + draw(9 + static_cast<uint64_t>(d), i) * (high.x[d] - low.x[d]);
        }
    }
    return queries;
}

void sort_along_curve(std::vector<point> &points)
{
    std::vector<std::pair<uint64_t, point>> keyed;
    point low, high;

    find_box(points, low, high);
    const double side = std::max({high.x[0] - low.x[0], high.x[1] - low.x[1], high.x[2] - low.x[2]});
    for (const point &p : points) {
        uint64_t key = 0;
        if (eqp_hilbert_keys(1, &p.x[0], &p.x[1], &p.x[2], low.x, side, &key) != EQP_OK) {
            bench_die("cannot sort");
        }
        keyed.push_back({key, p});
    }
    std::sort(keyed.begin(), keyed.end(), [](const std::pair<uint64_t, point> &a, const std::pair<uint64_t, point> &b) {
        return a.first < b.first;
    });
    for (size_t i = 0; i < points.size(); i++) {
        points[i] = keyed[i].second;
    }
}

// Seconds that a function takes.
template <typename Function> void add_run(bench_times &times, const Function &function)
{
    const double start = eqp_cpu_seconds();

    function();
    bench_times_add_since(&times, start);
}

// Both libraries with every leaf size.
struct built {
    std::vector<std::unique_ptr<our_tree>> our;
    std::vector<std::unique_ptr<their_tree>> their;
    std::vector<bench_times> our_build, their_build;
    double builds_per_run;
};

// Builds a tree of every set, one at a time; the last one, of the first set, stays.
template <typename Tree, typename Sets> void build_sets(std::unique_ptr<Tree> &tree, const Sets &sets, int leaf)
{
    for (size_t i = sets.size(); i-- > 0;) {
        tree.reset();
        tree.reset(new Tree(sets[i], leaf));
    }
}

built build_all(const std::vector<cloud> &sets)
{
    const int runs = sets[0].kdtree_get_point_count() > 300000 ? 3 : repetitions;
    built trees;

    trees.builds_per_run = static_cast<double>(sets.size());
    trees.our.resize(leaves.size());
    trees.their.resize(leaves.size());
    trees.our_build.resize(leaves.size(), bench_times());
    trees.their_build.resize(leaves.size(), bench_times());
    for (size_t i = 0; i < leaves.size(); i++) {
        for (int run = 0; run < runs; run++) {
            add_run(trees.our_build[i], [&] { build_sets(trees.our[i], sets, leaves[i]); });
            add_run(trees.their_build[i], [&] { build_sets(trees.their[i], sets, leaves[i]); });
        }
    }
    return trees;
}

size_t fastest(const std::vector<bench_times> &times)
{
    size_t best = 0;

    for (size_t i = 1; i < times.size(); i++) {
        if (bench_median(&times[i]) < bench_median(&times[best])) {
            best = i;
        }
    }
    return best;
}

void print_row(const std::string &head, const built &trees, const char *which, size_t a, size_t b, const cloud &queries)
{
    const size_t n = queries.kdtree_get_point_count();
    std::vector<double> our_dist2(n), their_dist2(n);
    bench_times our_times = {}, their_times = {};
    size_t differ = 0;

    for (int run = 0; run < repetitions; run++) {
        add_run(our_times, [&] { trees.our[a]->nearest(queries, our_dist2); });
        add_run(their_times, [&] { trees.their[b]->nearest(queries, their_dist2); });
    }
    for (size_t i = 0; i < n; i++) {
        differ += !(our_dist2[i] == their_dist2[i]);
    }
    const double our_build = bench_median(&trees.our_build[a]) / trees.builds_per_run;
    const double their_build = bench_median(&trees.their_build[b]) / trees.builds_per_run;
    const double our_ns = 1e9 * bench_median(&our_times) / static_cast<double>(n);
    const double their_ns = 1e9 * bench_median(&their_times) / static_cast<double>(n);
    std::printf("%s,%s,%d,%d,%.6f,%.6f,%.2f,%.1f,%.1f,%.2f,%zu\n", head.c_str(), which, leaves[a], leaves[b], our_build,
                their_build, their_build / our_build, our_ns, their_ns, their_ns / our_ns, differ);
    std::fflush(stdout);
}

void compare(const std::string &head, size_t n, bool plummer, bool sorted)
{
    const std::vector<point> points = make_points(0, n, plummer);
    std::vector<cloud> sets;

    // Small trees are built of many sets: of one that comes again and again, processors learn what every branch does.
    for (size_t first = 0; first == 0 || first < 50000; first += n) {
        std::vector<point> set = make_points(first, n, plummer);
        if (sorted) {
            sort_along_curve(set);
        }
        sets.emplace_back(set);
    }
    const built trees = build_all(sets);

    for (const bool near : {true, false}) {
        std::vector<point> places = make_queries(points, plummer, near);
        if (sorted) {
            sort_along_curve(places);
        }
        const cloud queries(places);
        const std::string row = head + (near ? ",near" : ",uniform");
        std::vector<bench_times> our_times(leaves.size(), bench_times()), their_times = our_times;
        std::vector<double> dist2(places.size());
        for (int run = 0; run < 2; run++) {
            for (size_t i = 0; i < leaves.size(); i++) {
                add_run(our_times[i], [&] { trees.our[i]->nearest(queries, dist2); });
                add_run(their_times[i], [&] { trees.their[i]->nearest(queries, dist2); });
            }
        }
        print_row(row, trees, "same", 0, 0, queries);
        print_row(row, trees, "best", fastest(our_times), fastest(their_times), queries);
    }
}

} // namespace

int main(int argc, char **argv)
{
    const auto n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
    const auto wanted = [&](int at, const char *word) { return argc <= at || std::string(argv[at]) == word; };

    if (n == 0) {
        bench_die("POINTS [curve|random]");
    }
    std::printf("points,type,distribution,order,queries,leaf,our_leaf,their_leaf,our_build_s,their_build_s,"
                "build_ratio,our_ns,their_ns,ratio,differ\n");
    for (const char *kind : {"uniform", "plummer"}) {
        for (const char *order : {"curve", "random"}) {
            const bool plummer = kind == std::string("plummer"), sorted = order == std::string("curve");
            if (wanted(2, order)) {
                compare(std::to_string(n) + ",double," + kind + "," + order, n, plummer, sorted);
            }
        }
    }
    return 0;
}
