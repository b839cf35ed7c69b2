/* SPDX-License-Identifier: BSD-3-Clause */
/* The options that are the same in every mini-app, and what follows from them.
 *
 * An app puts an app_run_settings into its own struct of values, and the two lists around its own rows:
 *
 *     typedef struct dd_settings { app_run_settings run; double mobility; ... } dd_settings;
 *
 *     static const app_option_text texts[] = {{.name = "dt", .help = "first time step, in seconds"}};
 *     static const app_command_line line = {.program = "dislocation", .positional = "SNAPSHOT",
 *         .positional_offset = offsetof(dd_settings, run.snapshot),
 *         .before = &app_run_input, .option = table, .noptions = ..., .after = &app_run_output,
 *         .shared_offset = offsetof(dd_settings, run), .text = texts, .ntexts = 1, .values_size = sizeof(dd_settings)};
 *
 * and calls app_run_check_inputs() and app_run_choose() when it completes its settings. */
#ifndef APP_RUN_SETTINGS_H
#define APP_RUN_SETTINGS_H

#include "options.h"

#include "../recipe/recipe.h"

#include <equipoise/balancer.h>
#include <equipoise/more/lazy.h>
#include <equipoise/more/loops.h>
#include <equipoise/problem.h>

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* Parses --memory-cap: bytes with K, M, G or T (powers of 1024), a list of which is repeated over the ranks; or a
 * multiple of the mean need of a rank, `1.5mean`. EQP_OK; EQP_ERR_ARGUMENT with the reason in the message (may be
 * NULL), EQP_ERR_MEMORY; *capacities is unchanged then. Free with app_memory_cap_free(). */
int app_memory_cap_parse(const char *text, eqp_capacities *capacities, eqp_message *message);
void app_memory_cap_free(eqp_capacities *capacities);

/* Checks that the number of ranks is a multiple of the length of the list. EQP_OK or EQP_ERR_ARGUMENT with a
 * message. */
int app_memory_cap_check(const eqp_capacities *capacities, int64_t nranks, eqp_message *message);

/* Reads the word of --share. EQP_OK; EQP_ERR_ARGUMENT with what is wrong in the message (may be NULL), EQP_ERR_MEMORY;
 * *choice is unchanged then. Free with app_share_free(). */
int app_share_parse(const char *text, eqp_share_options *choice, eqp_message *message);
void app_share_free(eqp_share_options *choice);

/* Checks that nparts is a multiple of the number of declared speeds. EQP_OK or EQP_ERR_ARGUMENT with a message. */
int app_share_check(const eqp_share_options *choice, int64_t nparts, eqp_message *message);

/* Most bytes of a file that describes a network. */
#define APP_NETWORK_BYTES 4096

typedef struct app_network_choice {
    eqp_network network; /* as told; else the defaults */
    bool measure;        /* --network measure */
    char *file;          /* read, or written with the measured network; NULL: none. Owned */
} app_network_choice;

/* Reads key=value,...; measure[:file=PATH,node=R]; or PATH[:key=value,...] of a file that has lines of keys and values,
 * of which the command line says some otherwise. EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_IO, EQP_ERR_MEMORY. Local. */
int app_network_parse(const char *text, app_network_choice *choice, eqp_message *message);

/* Measures if --network measure was given, and writes the file on rank 0. Collective. */
int app_network_measure(MPI_Comm comm, app_network_choice *choice, eqp_message *message);

void app_network_free(app_network_choice *choice);

/* Most parts of a what-if. */
#define APP_MOST_PARTS 65536

typedef struct app_run_settings {
    const char *snapshot, *generate, *restart;
    int64_t steps, seed;
    double dt;             /* 0: not given */
    int64_t max_particles; /* 0: not given */
    const char *balance, *rebalance;
    double imbalance_tol, false_alarms;
    int costs;           /* 0: measured, 1: nominal */
    int sample_strategy; /* an eqp_sample_strategy */
    double sample_rate, sample_threshold;
    const char *report, *forces, *output, *map; /* map: of equipoise-compare */
    int64_t output_every;
    bool quiet, progress;
    const char *exchange_text, *compare_text, *parts_text, *network_text, *share_text, *schedule_text, *lazy_text;
    const char *memory_text;
    /* derived: app_run_choose() */
    const eqp_method *method;
    eqp_choice choice; /* what --balance says, options included */
    eqp_policy_options policy;
    bool exchange_auto; /* the cheapest plan is taken; else this one: */
    eqp_exchange_plan exchange;
    int ncompare;        /* 0: no what-if */
    eqp_choice *compare; /* [ncompare] owned */
    int nparts_list;
    int64_t *parts; /* [nparts_list] owned; ascending, all different, 1 to APP_MOST_PARTS */
    app_network_choice network;
    eqp_lazy_options lazy;               /* who makes maps */
    eqp_message lazy_why;                /* of `auto`: why, by the model; else empty */
    eqp_lazy *makers;                    /* connection to the makers of maps during the run (borrowed); NULL: none */
    eqp_share_options share;             /* what --share says; owned */
    eqp_capacities capacities;           /* what --memory-cap says; owned */
    const eqp_schedule_method *schedule; /* by which a step's loop is handed out; NULL: it is not */
    eqp_schedule_options schedule_rules; /* how; without weights */
} app_run_settings;

/* --generate, --restart, --max-particles, --steps, --dt, --seed; and --balance to --progress. Their texts can be
 * replaced: see app_option_text. */
extern const app_option_list app_run_input, app_run_output;

/* Exactly one of snapshot, generate and restart; --output-every only with --output, --parts and --compare only
 * together. EQP_OK or EQP_ERR_ARGUMENT. */
int app_run_check_inputs(const char *program, const app_run_settings *run, eqp_message *message);

/* The same of outputs and what-ifs alone. */
int app_run_check_outputs(const char *program, const app_run_settings *run, eqp_message *message);

/* Looks --balance, --compare and --schedule up, methods in the library's table and then among the app's own rows (NULL:
 * none), and reads --rebalance, --share, --memory-cap, --exchange, --parts and --network. A text that is NULL counts as
 * its default. EQP_OK; EQP_ERR_UNKNOWN, EQP_ERR_ARGUMENT or EQP_ERR_MEMORY with a line, and then nothing is owned. */
int app_run_choose(const char *program, const eqp_methods *own, app_run_settings *run, eqp_message *message);

/* Frees what app_run_choose() has made; legal for settings that are zero, and twice. */
void app_run_settings_free(app_run_settings *run);

/* How the run is balanced, as its balancer wants to hear it. */
eqp_balancer_options app_run_balancing(const app_run_settings *run);

/* eqp_balancer_create(), with a line that begins with the program where an option cannot be. */
int app_run_balancer_create(const char *program, MPI_Comm comm, const eqp_problem *problem,
                            const eqp_balancer_options *options, eqp_balancer **balancer, eqp_message *message);

/* Checks that declared speeds fit the ranks: EQP_OK, or EQP_ERR_ARGUMENT with a line. */
int app_run_check_ranks(const char *program, const app_run_settings *run, int nranks, eqp_message *message);

/* A number >= 0 that differs (almost surely) where two settings want different runs: inputs, steps, balancing,
 * what-ifs; not where they write or show something else. Local. */
int64_t app_run_settings_hash(const app_run_settings *run);

/* Limits without --max-particles: particles of a file, and particles for each of its bytes; the larger one holds. */
#define APP_PARTICLES_OF_A_FILE 1000000
#define APP_PARTICLES_PER_BYTE 4

/* Before memory is asked for: are n particles, or nodes, of an input few enough? bytes: of its files; 0: it is
 * generated, and without --max-particles its own options are the limit. EQP_OK, or EQP_ERR_DATA with a line. */
int app_run_check_particles(const app_run_settings *run, const char *input, int64_t n, int64_t bytes,
                            eqp_message *message);

/* The file that is read: snapshot or restart; NULL where the input is generated. */
const char *app_run_input_path(const app_run_settings *run);

/* True if the user asked for a list: `--balance help`, `--generate help`. */
bool app_run_asks(const char *value);

/* The text for `--balance help`: owned by the caller. EQP_OK or EQP_ERR_MEMORY. */
int app_run_list_methods(const eqp_methods *own, char **text);

/* The text for `--schedule help`: likewise. */
int app_run_list_schedules(char **text);

/* The text for `--generate help`: likewise. */
int app_run_list_recipes(const app_recipes *table, char **text);

#endif
