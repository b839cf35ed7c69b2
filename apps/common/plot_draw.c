/* SPDX-License-Identifier: BSD-3-Clause */
#include "plot_draw.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "signals.h"

#define MOST_SECONDS 30 /* for gnuplot: plots are a help, and a run must end */
#define LABEL_LENGTH 40 /* bytes; a longer name is cut in the legend */

/* environ has no header of its own in POSIX. */
extern char **environ;

/* Okabe and Ito's colours, for every eye. */
enum {
    BLACK = 0x000000,
    ORANGE = 0xe69f00,
    SKY = 0x56b4e9,
    GREEN = 0x009e73,
    YELLOW = 0xf0e442,
    BLUE = 0x0072b2,
    VERMILION = 0xd55e00,
    PURPLE = 0xcc79a7,
    GREY = 0x999999,
    BROWN = 0x7f5f2f
};
static const unsigned colors[] = {ORANGE, SKY, PURPLE, BLUE, GREEN, VERMILION, YELLOW, BLACK};

/* A method keeps its colour whatever it is compared with. */
static const struct {
    const char *label;
    unsigned color;
} methods[] = {{"none", BLACK},        {"count", VERMILION}, {"sfc", BLUE},       {"rcb", PURPLE},
               {"interaction", GREEN}, {"tiles", ORANGE},    {"jagged", SKY},     {"feedback", YELLOW},
               {"auto", BLACK},        {"sectioning", GREY}, {"bisection", BROWN}};

/* In single quotes only the quote itself is special. */
void app__plot_quote(FILE *stream, const char *text)
{
    (void)fputc('\'', stream);
    for (; *text; text++) {
        if (*text == '\'') {
            (void)fputc('\'', stream);
        }
        (void)fputc(*text == '\n' ? ' ' : *text, stream);
    }
    (void)fputc('\'', stream);
}

/* Names of one kind often differ at the end only, so the middle goes. */
void app__plot_label(FILE *stream, const char *text)
{
    char label[LABEL_LENGTH + 4];
    size_t length = strlen(text), front = LABEL_LENGTH / 2, back = length - LABEL_LENGTH / 2;

    if (length <= LABEL_LENGTH) {
        (void)snprintf(label, sizeof label, "%s", text);
    } else {
        /* Not within a character of UTF-8. */
        while (front > 0 && ((unsigned char)text[front] & 0xc0) == 0x80) {
            front--;
        }
        while (back < length && ((unsigned char)text[back] & 0xc0) == 0x80) {
            back++;
        }
        (void)snprintf(label, sizeof label, "%.*s...%s", (int)front, text, text + back);
    }
    for (char *c = label; *c; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f) {
            *c = '?';
        }
    }
    app__plot_quote(stream, label);
}

void app__plot_path(FILE *stream, const char *dir, const char *path)
{
    size_t length = strlen(dir);
    char here[4096], whole[8192];

    while (length > 1 && dir[length - 1] == '/') {
        length--;
    }
    if (strncmp(path, dir, length) == 0 && path[length] == '/') {
        path += length;
        path += strspn(path, "/");
    } else if (path[0] != '/' && getcwd(here, sizeof here)) {
        (void)snprintf(whole, sizeof whole, "%s/%s", here, path);
        path = whole;
    }
    app__plot_quote(stream, path);
}

/* The method of a label; -1: it is none. */
static int method_of(const char *label)
{
    for (int m = 0; m < (int)(sizeof methods / sizeof methods[0]); m++) {
        if (strcmp(label, methods[m].label) == 0) {
            return m;
        }
    }
    return -1;
}

static bool is_taken(int n, const char *const *label, unsigned color)
{
    for (int i = 0; i < n; i++) {
        int m = method_of(label[i]);

        if (m >= 0 && methods[m].color == color) {
            return true;
        }
    }
    return false;
}

/* Labels that are no method share what the methods among the runs leave over, in turn. */
unsigned app__plot_color(int n, const char *const *label, int i)
{
    const int ncolors = (int)(sizeof colors / sizeof colors[0]);
    unsigned left[sizeof colors / sizeof colors[0]];
    int method = method_of(label[i]), nleft = 0, place = 0;

    if (method >= 0) {
        return methods[method].color;
    }
    for (int c = 0; c < ncolors; c++) {
        if (!is_taken(n, label, colors[c])) {
            left[nleft++] = colors[c];
        }
    }
    for (int k = 0; k < i; k++) {
        place += method_of(label[k]) < 0;
    }
    return nleft > 0 ? left[place % nleft] : colors[place % ncolors];
}

int app__plot_write(const char *dir, const char *name, void (*put)(FILE *stream, const void *user), const void *user,
                    eqp_message *message)
{
    size_t size = strlen(dir) + strlen(name) + 2;
    char *path = malloc(size);
    FILE *stream;
    int broken;

    if (!path) {
        return EQP_ERR_MEMORY;
    }
    (void)snprintf(path, size, "%s/%s", dir, name);
    stream = fopen(path, "w");
    if (!stream) {
        eqp_message_set(message, "%s: cannot write: %s", path, strerror(errno));
        free(path);
        return EQP_ERR_IO;
    }
    put(stream, user);
    broken = ferror(stream);
    if (fclose(stream) || broken) {
        eqp_message_set(message, "%s: cannot write: %s", path, strerror(errno));
        free(path);
        return EQP_ERR_IO;
    }
    free(path);
    return EQP_OK;
}

/* cd 'dir'; load 'name' */
static char *make_command(const char *dir, const char *name)
{
    char *command = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&command, &size);

    if (!stream) {
        return NULL;
    }
    (void)fputs("cd ", stream);
    app__plot_quote(stream, dir);
    (void)fputs("; load ", stream);
    app__plot_quote(stream, name);
    if (fclose(stream)) {
        free(command);
        return NULL;
    }
    return command;
}

/* Waits for the plotter; one that hangs, or that is at work when a signal asks us to end, is killed. 0, or an errno. */
static int wait_for(pid_t child, int *status)
{
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    const int most_pauses = 100 * MOST_SECONDS;

    for (int pauses = 0;; pauses++) {
        pid_t ended = waitpid(child, status, WNOHANG);
        if (ended == child || (ended < 0 && errno != EINTR)) {
            return ended == child ? 0 : errno;
        }
        if (pauses == most_pauses || app_signals_pending() != 0) {
            (void)kill(child, SIGKILL);
        }
        (void)nanosleep(&pause, NULL);
    }
}

/* Starts gnuplot without a terminal of ours and waits. -1: it is not there; otherwise its exit status. */
static int run_gnuplot(char *command)
{
    char name[] = "gnuplot", option[] = "-e";
    char *const argv[] = {name, option, command, NULL};
    posix_spawn_file_actions_t actions;
    int status = 0, started;
    pid_t child;

    if (posix_spawn_file_actions_init(&actions)) {
        return 1;
    }
    started = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) == 0 &&
              posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
              posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
              posix_spawnp(&child, "gnuplot", &actions, NULL, argv, environ) == 0;
    (void)posix_spawn_file_actions_destroy(&actions);
    if (!started) {
        return -1;
    }
    if (wait_for(child, &status) != 0) {
        return 1;
    }
    /* 127 is how a system tells that its child could not be started after all. */
    return !WIFEXITED(status) ? 1 : WEXITSTATUS(status) == 127 ? -1 : WEXITSTATUS(status);
}

int app__plot_draw(const char *dir, const char *name, eqp_message *message)
{
    char *command = make_command(dir, name);
    int status;

    if (!command) {
        return EQP_ERR_MEMORY;
    }
    status = run_gnuplot(command);
    free(command);
    if (status < 0) {
        eqp_message_set(message, "no plots: gnuplot is not installed; it draws them from %s/%s", dir, name);
        return EQP_ERR_UNKNOWN;
    }
    if (status > 0) {
        eqp_message_set(message, "no plots: gnuplot cannot draw %s/%s", dir, name);
        return EQP_ERR_IO;
    }
    return EQP_OK;
}
