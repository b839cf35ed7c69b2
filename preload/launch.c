/* SPDX-License-Identifier: BSD-3-Clause */
/* equipoise-lazy: runs an unmodified MPI program on some of the ranks and balancers on the rest. */
#include "job.h"

#include <equipoise/version.h>

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct settings {
    long balancers;
    const char *spread, *report, *method, *patience;
    bool check;
} settings;

static _Noreturn void refuse(const char *format, ...)
{
    if (eqp__job_is_first()) {
        va_list arguments;

        va_start(arguments, format);
        fputs("equipoise-lazy: ", stderr);
        vfprintf(stderr, format, arguments);
        fputc('\n', stderr);
        va_end(arguments);
    }
    exit(2);
}

static void print_help(void)
{
    puts("usage: mpirun -n N equipoise-lazy -n M [OPTION...] [--] PROGRAM [ARGUMENT...]\n"
         "Runs an unmodified PROGRAM on N - M of N ranks, and balancers on the remaining M.\n"
         "  -n M               number of balancers, 0 to N - 1\n"
         "  --spread last|node use the last ranks, or the last ranks of each node in turn (default last)\n"
         "  --balance METHOD   method of the maps that PROGRAM requests by MPI_Pcontrol (default sfc)\n"
         "  --patience SECONDS time after which a silent balancer is given up (default 60)\n"
         "  --report FILE      CPU seconds outside MPI per rank and step, as JSON if FILE ends in .json, else CSV\n"
         "  --check            only tell whether PROGRAM can be divided\n"
         "  --version          print the version and exit\n"
         "  --help             print this and exit; also -h");
}

static long to_count(const char *text)
{
    char *end = NULL;

    errno = 0;
    const long count = strtol(text, &end, 10);

    if (*text == '\0' || *end != '\0' || errno != 0 || count < 0 || count > INT_MAX) {
        refuse("-n: '%s' is no number of ranks", text);
    }
    return count;
}

static bool is_patience(const char *text)
{
    char *end = NULL;
    const double seconds = strtod(text, &end);

    return *text != '\0' && *end == '\0' && seconds > 0.0 && seconds <= 1e9;
}

static settings read_arguments(int argc, char **argv)
{
    enum { SPREAD = 256, BALANCE, PATIENCE, REPORT, CHECK, VERSION, HELP };
    static const struct option options[] = {{"spread", required_argument, NULL, SPREAD},
                                            {"balance", required_argument, NULL, BALANCE},
                                            {"patience", required_argument, NULL, PATIENCE},
                                            {"report", required_argument, NULL, REPORT},
                                            {"check", no_argument, NULL, CHECK},
                                            {"version", no_argument, NULL, VERSION},
                                            {"help", no_argument, NULL, HELP},
                                            {NULL, 0, NULL, 0}};
    settings given = {-1, "last", NULL, "sfc", "60", false};
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, "+n:h", options, NULL)) != -1) {
        switch (option) {
        case 'n':
            given.balancers = to_count(optarg);
            break;
        case SPREAD:
            given.spread = optarg;
            break;
        case BALANCE:
            given.method = optarg;
            break;
        case PATIENCE:
            given.patience = optarg;
            break;
        case REPORT:
            given.report = optarg;
            break;
        case CHECK:
            given.check = true;
            break;
        case VERSION:
            puts("equipoise-lazy " EQP_VERSION);
            exit(0);
        case 'h':
        case HELP:
            print_help();
            exit(0);
        default:
            refuse("'%s' is no option or has no value (try --help)", argv[optind - 1]);
        }
    }
    if (strcmp(given.spread, "last") != 0 && strcmp(given.spread, "node") != 0) {
        refuse("--spread: '%s' is neither last nor node", given.spread);
    }
    if (!is_patience(given.patience)) {
        refuse("--patience: '%s' is no number of seconds above 0", given.patience);
    }
    if (given.balancers < 0 || optind == argc) {
        refuse(given.balancers < 0 ? "-n M is missing (try --help)" : "no program (try --help)");
    }
    return given;
}

/* Finds the program as execvp() does; false: not found. */
static bool find_program(const char *name, char *path, size_t size)
{
    const char *folders = getenv("PATH");
    struct stat status;

    if (strchr(name, '/') != NULL || folders == NULL) {
        return snprintf(path, size, "%s", name) < (int)size && access(path, X_OK) == 0 && stat(path, &status) == 0 &&
               S_ISREG(status.st_mode);
    }
    for (const char *at = folders; at != NULL; at = strchr(at, ':') != NULL ? strchr(at, ':') + 1 : NULL) {
        const int length = (int)strcspn(at, ":");

        if (snprintf(path, size, "%.*s/%s", length, length > 0 ? at : ".", name) < (int)size &&
            access(path, X_OK) == 0 && stat(path, &status) == 0 && S_ISREG(status.st_mode)) {
            return true;
        }
    }
    return false;
}

/* The library is in the build folder next to this program, or where it was installed. */
static void find_library(char *path, size_t size)
{
    static const char *const places[] = {"", EQP_LIBRARY_FROM_PROGRAM "/"};
    char own[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);

    own[length > 0 ? length : 0] = '\0';
    *(strrchr(own, '/') != NULL ? strrchr(own, '/') : own) = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (snprintf(path, size, "%s/%slibequipoise-lazy.so", own, places[i]) < (int)size && access(path, R_OK) == 0) {
            return;
        }
    }
    refuse("libequipoise-lazy.so is not where it was installed: %s", path);
}

static void set(const char *name, const char *value)
{
    if (setenv(name, value, 1) != 0) {
        refuse("no memory");
    }
}

/* Makes the path absolute: the program may change its folder before the report is written. */
static void set_report(const char *report)
{
    char folder[PATH_MAX], path[2 * PATH_MAX];

    if (report[0] == '/' || getcwd(folder, sizeof folder) == NULL) {
        set("EQP_LAZY_REPORT", report);
    } else {
        snprintf(path, sizeof path, "%s/%s", folder, report);
        set("EQP_LAZY_REPORT", path);
    }
}

static void set_preload(const char *library)
{
    const char *others = getenv("LD_PRELOAD");
    char *all = malloc(strlen(library) + (others != NULL ? strlen(others) : 0) + 2);

    if (strpbrk(library, " :") != NULL) {
        refuse("%s: LD_PRELOAD takes no path with a blank or a colon", library);
    }
    if (all == NULL) {
        refuse("no memory");
    }
    sprintf(all, "%s%s%s", library, others != NULL && *others != '\0' ? ":" : "", others != NULL ? others : "");
    set("LD_PRELOAD", all);
    free(all);
}

int main(int argc, char **argv)
{
    const settings given = read_arguments(argc, argv);
    const char *world = eqp__job(EQP_JOB_SIZE), *job = eqp__job(EQP_JOB_NAME);
    char program[PATH_MAX], library[PATH_MAX], wrong[2 * PATH_MAX], note[256], count[32];

    if (!find_program(argv[optind], program, sizeof program)) {
        refuse("%s: is not there, or cannot be run", argv[optind]);
    }
    find_library(library, sizeof library);
    eqp__program_look(program, library, wrong, note, sizeof note);
    if (wrong[0] != '\0') {
        refuse("%s", wrong);
    }
    if (world != NULL && given.balancers >= atol(world)) {
        refuse("-n %ld leaves no rank of %s for the program", given.balancers, world);
    }
    if (given.check) {
        if (eqp__job_is_first()) {
            printf("%s: %s%s\n", program, note[0] != '\0' ? "may be divided: " : "can be divided", note);
        }
        return 0;
    }
    snprintf(count, sizeof count, "%ld", given.balancers);
    set("EQP_LAZY_BALANCERS", count);
    set("EQP_LAZY_SPREAD", given.spread);
    set("EQP_LAZY_BALANCE", given.method);
    set("EQP_LAZY_PATIENCE", given.patience);
    set("EQP_LAZY_JOB", job != NULL ? job : "");
    set_preload(library);
    if (given.report != NULL) {
        set_report(given.report);
    }
    execv(program, argv + optind);
    refuse("%s: %s", program, strerror(errno));
}
