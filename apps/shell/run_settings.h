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
#include <equipoise/more/comm.h>
#include <equipoise/more/lazy.h>
#include <equipoise/more/loops.h>
#include <equipoise/problem.h>

#include <equipoise/more/comm.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* Parses --memory-cap: bytes with K, M, G or T (powers of 1024), in a list repeated over the ranks; or a multiple of a
 * rank's mean need, `1.5mean`. EQP_OK; EQP_ERR_ARGUMENT with the reason in the message (NULL allowed), EQP_ERR_MEMORY;
 * *capacities is unchanged on error. Free with app_memory_cap_free(). */
int app_memory_cap_parse(const char *text, eqp_capacities *capacities, eqp_message *message);
void app_memory_cap_free(eqp_capacities *capacities);

/* Checks that the number of ranks is a multiple of the length of the list. EQP_OK or EQP_ERR_ARGUMENT with a
 * message. */
int app_memory_cap_check(const eqp_capacities *capacities, int64_t nranks, eqp_message *message);

/* Parses --share. EQP_OK; EQP_ERR_ARGUMENT with the reason in the message (NULL allowed), EQP_ERR_MEMORY; *choice is
 * unchanged on error. Free with app_share_free(). */
int app_share_parse(const char *text, eqp_share_options *choice, eqp_message *message);
void app_share_free(eqp_share_options *choice);

/* Checks that nparts is a multiple of the number of declared speeds. EQP_OK or EQP_ERR_ARGUMENT with a message. */
int app_share_check(const eqp_share_options *choice, int64_t nparts, eqp_message *message);

/* Most bytes of a file that describes a network. */
#define APP_NETWORK_BYTES 4096

typedef struct app_network_choice {
    eqp_network network; /* as given, else the defaults */
    bool measure;        /* --network measure */
    char *file;          /* file to read, or to write the measured network to; NULL: none. Owned */
} app_network_choice;

/* Reads key=value,...; measure[:file=PATH,node=R]; or PATH[:key=value,...]: a file with lines of keys and values, some
 * overridden on the command line. EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_IO, EQP_ERR_MEMORY. Local. */
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
    int64_t node;        /* ranks that share memory at most; 0: all of a computer, -1: none */
    double sample_rate, sample_threshold;
    const char *report, *forces, *output, *map; /* map: of equipoise-compare */
    int64_t output_every;
    bool quiet, progress;
    const char *exchange_text, *compare_text, *parts_text, *network_text, *share_text, *schedule_text, *lazy_text;
    const char *memory_text;
    /* derived: app_run_choose() */
    const eqp_method *method;
    eqp_choice choice; /* of --balance, options included */
    eqp_policy_options policy;
    bool exchange_auto; /* takes the cheapest plan; else this one: */
    eqp_exchange_plan exchange;
    int ncompare;        /* 0: no what-if */
    eqp_choice *compare; /* [ncompare] owned */
    int nparts_list;
    int64_t *parts; /* [nparts_list] owned; ascending, all different, 1 to APP_MOST_PARTS */
    app_network_choice network;
    eqp_lazy_options lazy;               /* who makes maps */
    eqp_message lazy_why;                /* the model's reason for the choice of `auto`; else empty */
    eqp_lazy *makers;                    /* connection to the makers of maps during the run (borrowed); NULL: none */
    eqp_share_options share;             /* of --share; owned */
    eqp_capacities capacities;           /* of --memory-cap; owned */
    const eqp_schedule_method *schedule; /* hands out a step's loop; NULL: it is not handed out */
    eqp_schedule_options schedule_rules; /* without weights */
} app_run_settings;

/* --generate, --restart, --max-particles, --steps, --dt, --seed; and --balance to --progress. app_option_text replaces
 * their texts. */
extern const app_option_list app_run_input, app_run_output;

/* Exactly one of snapshot, generate and restart; --output-every only with --output; --parts and --compare only
 * together. EQP_OK or EQP_ERR_ARGUMENT. */
int app_run_check_inputs(const char *program, const app_run_settings *run, eqp_message *message);

/* The same checks for outputs and what-ifs only. */
int app_run_check_outputs(const char *program, const app_run_settings *run, eqp_message *message);

/* Looks up --balance, --compare and --schedule, methods in the library's table and then among the app's own rows (NULL:
 * none), and reads --rebalance, --share, --memory-cap, --exchange, --parts and --network. A NULL text means the
 * default. EQP_OK; EQP_ERR_UNKNOWN, EQP_ERR_ARGUMENT or EQP_ERR_MEMORY with a message; nothing is owned on error. */
int app_run_choose(const char *program, const eqp_methods *own, app_run_settings *run, eqp_message *message);

/* Frees the results of app_run_choose(); legal for zeroed settings, and twice. */
void app_run_settings_free(app_run_settings *run);

/* Options of the run's balancer. */
eqp_balancer_options app_run_balancing(const app_run_settings *run);

/* eqp_balancer_create() with a message that begins with the program for invalid options. */
int app_run_balancer_create(const char *program, MPI_Comm comm, const eqp_problem *problem,
                            const eqp_balancer_options *options, eqp_balancer **balancer, eqp_message *message);

/* Checks that declared speeds fit the number of ranks. EQP_OK, or EQP_ERR_ARGUMENT with a message. */
int app_run_check_ranks(const char *program, const app_run_settings *run, int nranks, eqp_message *message);

/* This rank's node, whose ranks read each other's data in place; owned by the caller. NULL if every rank has a node of
 * its own, with --node none, and where data travel: a plan of the user's sends them, and work that is handed out takes
 * them along. *lost: true if MPI gives no shared memory. Collective; the same code on all ranks. */
int app_run_node(const app_run_settings *run, MPI_Comm comm, eqp_node **node, bool *lost);

/* A number >= 0 that differs (almost surely) between settings of different runs: inputs, steps, balancing, what-ifs.
 * Ignores outputs and display. Local. */
int64_t app_run_settings_hash(const app_run_settings *run);

/* Limits without --max-particles: particles of a file, and particles per byte; the larger limit applies. */
#define APP_PARTICLES_OF_A_FILE 1000000
#define APP_PARTICLES_PER_BYTE 4

/* Checks the number n of particles or nodes of an input before memory is allocated. bytes: of its files; 0 for
 * generated inputs, which without --max-particles are limited by their own options. EQP_OK, or EQP_ERR_DATA with a
 * message. */
int app_run_check_particles(const app_run_settings *run, const char *input, int64_t n, int64_t bytes,
                            eqp_message *message);

/* The snapshot or restart file to read; NULL if the input is generated. */
const char *app_run_input_path(const app_run_settings *run);

/* True if the value asks for a list: `--balance help`, `--generate help`. */
bool app_run_asks(const char *value);

/* The texts for help with methods, schedules and generators: owned by the caller. EQP_OK or EQP_ERR_MEMORY. */
int app_run_list_methods(const eqp_methods *own, char **text);

int app_run_list_schedules(char **text);

int app_run_list_recipes(const app_recipes *table, char **text);

#endif
