/* SPDX-License-Identifier: BSD-3-Clause */
/* Weights only, in C++: items with a place and measured work get a rank each, and go there. */
#include <equipoise/equipoise.hpp>
#include <equipoise/more/random.h>

#include <algorithm>
#include <cstdio>

struct atom {
    float x[3];
    double seconds; /* that it took in the last step */
};

/* A clump in a thin background; what lies in the clump takes longer. The last rank has nothing yet. */
static std::vector<atom> make_atoms(int rank, int size)
{
    std::vector<atom> atoms(size > 1 && rank == size - 1 ? 0 : 5000);
    for (std::size_t i = 0; i < atoms.size(); i++) {
        for (unsigned a = 0; a < 3; a++) {
            const double u = eqp_random_uniform(1, static_cast<std::uint64_t>(rank) * 5000 + i, a);
            atoms[i].x[a] = static_cast<float>(i % 2 == 0 ? 0.7 + 0.05 * u : u);
        }
        atoms[i].seconds = i % 2 == 0 ? 3e-6 : 1e-6;
    }
    return atoms;
}

static bool balance(MPI_Comm comm, const char *method)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const std::vector<atom> atoms = make_atoms(rank, size);
    std::vector<double> weight;
    for (const atom &a : atoms) {
        weight.push_back(a.seconds);
    }

    const auto [mine] = equipoise::balance_send(comm, method, {atoms, &atom::x}, weight, {}, atoms);

    double sum = 0.0, most = 0.0;
    for (const atom &a : mine) {
        sum += a.seconds;
    }
    MPI_Allreduce(&sum, &most, 1, MPI_DOUBLE, MPI_MAX, comm);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    if (rank == 0) {
        std::printf("imbalance %.2f%%\n", 100.0 * (most * size / sum - 1.0));
    }
    return most * size <= 1.021 * sum;
}

int main(int argc, char **argv)
{
    bool good = false;
    MPI_Init(&argc, &argv);
    try {
        good = balance(MPI_COMM_WORLD, argc > 1 ? argv[1] : "sfc");
    } catch (const equipoise::error &e) {
        std::fprintf(stderr, "weights: %s\n", e.what());
    }
    MPI_Finalize();
    return good ? 0 : 1;
}
