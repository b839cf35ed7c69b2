/* SPDX-License-Identifier: BSD-3-Clause */
/* The balancer object, in C++: cells of a box, a clump that moves through them, whole cells on each rank.
 * usage: balancer [METHOD [STEPS]] */
#include <equipoise/balancer.h>
#include <equipoise/more/comm.h>
#include <equipoise/more/curve.h>

#include <equipoise/equipoise.hpp>

#include <cmath>
#include <cstdio>

constexpr int M = 12, CELLS = M * M * M; /* cells along an edge of the box, which is 1; all cells */

static std::array<double, 3> centre_of(int c)
{
    return {(c / (M * M) + 0.5) / M, (c / M % M + 0.5) / M, (c % M + 0.5) / M};
}

/* Neighbour k of 27 in a periodic box. */
static int neighbour(int c, int k)
{
    const int x = (c / (M * M) + k / 9 + M - 1) % M, y = (c / M % M + k / 3 % 3 + M - 1) % M;
    return (x * M + y) * M + (c % M + k % 3 + M - 1) % M;
}

/* Interactions of a cell in a step: many in the clump. */
static std::int64_t work_of(int c, std::int64_t step)
{
    const auto x = centre_of(c);
    const double clump = 0.3 + 0.005 * static_cast<double>(step);
    double r2 = 0.0;
    for (const double at : x) {
        r2 += (at - clump) * (at - clump);
    }
    return 20 + static_cast<std::int64_t>(2000.0 * std::exp(-40.0 * r2));
}

/* A code whose ranks own cells. */
struct code {
    int rank = 0, home[CELLS]; /* rank of each cell, on all ranks */
    std::int64_t now = 0, looked = 0;
    double force = 0.0;
    std::unique_ptr<equipoise::balancer> balancer;

    explicit code(const std::string &method)
    {
        equipoise::balancer_options options(method);
        equipoise::problem problem;

        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        for (int c = 0; c < CELLS; c++) {
            home[c] = c * equipoise::size_of(MPI_COMM_WORLD) / CELLS;
        }
        options.calibrate = false; /* what is checked is counted work, not seconds */
        options.policy.mode = EQP_POLICY_REPAIR;
        problem.survey = [this](eqp_survey_kind kind, equipoise::survey list) { survey(kind, list); };
        balancer = std::make_unique<equipoise::balancer>(MPI_COMM_WORLD, problem, options);
    }

    /* Every cell that lives here is an owner, with its work and the cells that it looks at. */
    void survey(eqp_survey_kind kind, equipoise::survey list) const
    {
        const double corner[3] = {0, 0, 0};
        std::int64_t at_home = 0;

        for (int c = 0; c < CELLS; c++) {
            if (home[c] == rank) {
                const auto x = centre_of(c);
                eqp_owner owner{};
                owner.id = owner.pin = c;
                owner.home = rank;
                owner.tag = rank;
                owner.at_home = at_home++;
                owner.particles = 10;
                owner.bytes = 800;
                owner.count[0] = work_of(c, now);
                owner.interactions = 27;
                std::copy(x.begin(), x.end(), owner.centre);
                equipoise::check(eqp_hilbert_keys(1, &x[0], &x[1], &x[2], corner, 1.0, &owner.key));
                for (int k = 0; k < 27 && kind == EQP_SURVEY_WORK; k++) {
                    list.add_pin(neighbour(c, k));
                }
                list.add_owner(owner);
            }
        }
    }

    /* Cells to where the advice wants them. Their particles would go along: equipoise::send_records(). */
    void follow(equipoise::view<const eqp_placement> placement)
    {
        int moved[CELLS];
        std::size_t at_home = 0;

        for (int c = 0; c < CELLS; c++) {
            moved[c] = home[c] == rank ? placement[at_home++].home : 0;
        }
        MPI_Allreduce(moved, home, CELLS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }

    /* The forces of this step; returns how many interactions they had. */
    std::int64_t compute(eqp_rank_row &row)
    {
        const double begin = eqp_cpu_seconds();

        looked = 0;
        for (int c = 0; c < CELLS; c++) {
            for (std::int64_t i = home[c] == rank ? work_of(c, now) : 0; i > 0; i--, looked++) {
                force += 1.0 / std::sqrt(static_cast<double>(i));
            }
        }
        row.load = eqp_cpu_seconds_since(begin);
        return looked;
    }

    eqp_step step(std::int64_t s, std::int64_t steps)
    {
        eqp_rank_row row{};
        const double begin = eqp_cpu_seconds();
        const auto advice = balancer->advise(steps - s);
        if (advice.changed) {
            follow(advice.placement);
        }
        row.balance_seconds = eqp_cpu_seconds_since(begin);
        now = s;
        return balancer->record(row, {compute(row)});
    }
};

static bool run(const std::string &method, std::int64_t steps)
{
    code cells(method);
    std::int64_t expected = 0, total;
    eqp_step said{};

    for (std::int64_t s = 0; s <= steps; s++) {
        said = cells.step(s, steps);
        if (cells.rank == 0 && (said.rebalanced || s == steps)) {
            std::printf("step %d: imbalance %.1f%% by work %s\n", static_cast<int>(s), 100.0 * said.imbalance_work,
                        said.why);
        }
    }
    const auto rows = cells.balancer->compare("count,sfc", {64, 512});
    for (const eqp_compared &row : rows) {
        if (cells.rank == 0) {
            std::printf("%s into %d parts: imbalance %.0f%%\n", row.method, row.parts, 100.0 * row.evaluated.imbalance);
        }
    }
    for (int c = 0; c < CELLS; c++) {
        expected += work_of(c, steps);
    }
    total = cells.looked;
    equipoise::check(eqp_sum_int64(MPI_COMM_WORLD, 1, &total));
    return total == expected && said.imbalance_work < 0.1 && rows.size() == 4 && rows[0].parts == 64;
}

int main(int argc, char **argv)
{
    bool good = false;

    MPI_Init(&argc, &argv);
    try {
        good = run(argc > 1 ? argv[1] : "sfc", argc > 2 ? std::atoi(argv[2]) : 20);
    } catch (const equipoise::error &e) {
        std::fprintf(stderr, "balancer: %s\n", e.what());
    }
    MPI_Finalize();
    return good ? 0 : 1;
}
