/* SPDX-License-Identifier: BSD-3-Clause */
#include "shell.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Nominal values before anything is measured. DRIFT: relative growth of a step per step of map age. UNEVEN: imbalance
 * while a run waits for a map. */
#define DRIFT 0.005
#define UNEVEN 0.1

/* Default number of generated particles, and bytes of a file per particle. */
#define USUAL_PARTICLES 32768.0
#define FILE_BYTES 32.0

/* Seconds per owner: to partition a hypergraph into 8 parts, to cut the curve or tiles, and to bisect points with
 * messages; then independent of the owners. */
#define HYPERGRAPH 2.6e-5
#define CUT 1.5e-7
#define BISECTION 1e-6
#define ROUND 2e-4

/* Seconds of a rank per own owner that it offers and places; seconds of the first rank per owner of all ranks in a
 * repair. */
#define OWN 6e-7
#define REPAIRED 9e-8

static double particles_of(const app_pace *pace, const app_run_settings *run)
{
    const char *path = app_run_input_path(run), *text = run->generate;
    struct stat status;

    if (path != NULL && stat(path, &status) == 0) {
        return fmax(1.0, (double)status.st_size / FILE_BYTES);
    }
    for (const char *at = text != NULL ? strpbrk(text, ":,") : NULL; at != NULL; at = strpbrk(at + 1, ":,")) {
        if (strncmp(at + 1, "n=", 2) == 0 && pace->each > 0) {
            return fmax(1.0, pace->each * strtod(at + 3, NULL));
        }
    }
    return USUAL_PARTICLES;
}

static eqp_seconds_fit map_of(const app_run_settings *run, double owners, int nranks)
{
    const eqp_method *method = run->method;
    const bool graph = !eqp_method_assigns(method) || (method->flags & EQP_NEEDS_PINS) != 0;

    if (graph) {
        return (eqp_seconds_fit){ROUND, HYPERGRAPH * owners * fmax(1.0, log2(nranks) / 3.0), 25.0 * ROUND};
    }
    return (eqp_seconds_fit){ROUND + (method->assign_alone != NULL ? CUT : BISECTION) * owners, 0.0, 0.0};
}

/* Sets *spare if every node has more cores than ranks. Collective; the same on all ranks. */
static int has_spare_core(MPI_Comm world, bool *spare)
{
    MPI_Comm node = MPI_COMM_NULL;
    int64_t least;
    int here = 1, code;

    code =
        MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) == MPI_SUCCESS ? EQP_OK : EQP_ERR_MPI;
    if (code == EQP_OK) {
        MPI_Comm_size(node, &here);
    }
    eqp_comm_free(&node);
    least = code == EQP_OK && sysconf(_SC_NPROCESSORS_ONLN) > here;
    if (MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_INT64_T, MPI_MIN, world) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    *spare = least != 0;
    return code;
}

int app_lazy_choose(MPI_Comm world, const app_pace *pace, app_run_settings *run)
{
    /* Methods without assign: the balancer carries out methods of units, the app all others. */
    const bool known = pace->seconds > 0 && !(run->method->flags & (EQP_KEEPS | EQP_BY_LOADS)) &&
                       (eqp_method_assigns(run->method) || (run->method->flags & EQP_NEEDS_UNITS) != 0);
    eqp_lazy_model model = {
        .talk = {.fixed = ROUND}, .imbalance = UNEVEN, .drift = DRIFT, .steps = run->steps > 0 ? run->steps : 1};
    double particles = particles_of(pace, run);
    int nranks;

    if (run->lazy.mode != EQP_LAZY_AUTO) {
        return EQP_OK;
    }
    MPI_Comm_size(world, &nranks);
    if (!known || nranks < 2) {
        run->lazy.mode = EQP_LAZY_NONE;
        eqp_message_set(&run->lazy_why, "%s", known ? "one rank" : "no map of this method can be made elsewhere");
        return EQP_OK;
    }
    if (MPI_Bcast(&particles, 1, MPI_DOUBLE, 0, world) != MPI_SUCCESS) { /* some nodes may not see the file */
        return EQP_ERR_MPI;
    }
    EQP_CHECK(has_spare_core(world, &model.spare));
    model.step.divided = particles * pace->seconds;
    model.map = map_of(run, particles * pace->owners, nranks);
    model.own = ROUND + particles * pace->owners * (OWN / nranks + (run->lazy.repair != 0 ? REPAIRED : 0.0));
    return eqp_lazy_decide(&model, nranks, run->method->assign_alone != NULL && !run->choice.options.split, &run->lazy,
                           &run->lazy_why);
}
