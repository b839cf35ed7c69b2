/* SPDX-License-Identifier: BSD-3-Clause */
#include "plot_draw.h"

#include <equipoise/more/base.h>
#include <equipoise/more/file.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../shell/signals.h"

#define MOST_SECONDS 30 /* for gnuplot: plots are a help, and a run must end */
#define LABEL_LENGTH 40 /* bytes; a longer name is cut in the legend */
#define MOST_IMAGES 8

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,:=+-_/()";

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
    BROWN = 0x7f5f2f,
    TEAL = 0x44aa99
};
static const unsigned colors[] = {ORANGE, SKY, PURPLE, BLUE, GREEN, VERMILION, YELLOW, BLACK};

/* A method keeps its colour whatever it is compared with. */
static const struct {
    const char *label;
    unsigned color;
} methods[] = {{"none", BLACK},        {"count", VERMILION}, {"sfc", BLUE},        {"rcb", PURPLE},
               {"interaction", GREEN}, {"tiles", ORANGE},    {"jagged", SKY},      {"feedback", YELLOW},
               {"tensor", BROWN},      {"auto", BLACK},      {"sectioning", GREY}, {"bisection", BROWN},
               {"diffusion", TEAL},    {"voronoi", GREY}};

/* Bytes of the character of UTF-8 that the text begins with; 0: it does not begin with a whole one. */
static size_t character_length(const char *text)
{
    const unsigned char *byte = (const unsigned char *)text;
    const size_t length = byte[0] < 0x80 ? 1 : byte[0] < 0xc2 ? 0 : byte[0] < 0xe0 ? 2 : byte[0] < 0xf0 ? 3 : 4;
    /* Neither a longer form than is needed, nor half of a pair of UTF-16, nor beyond Unicode. */
    const unsigned char low = byte[0] == 0xe0 ? 0xa0 : byte[0] == 0xf0 ? 0x90 : 0x80;
    const unsigned char high = byte[0] == 0xed ? 0x9f : byte[0] == 0xf4 ? 0x8f : 0xbf;

    if (byte[0] > 0xf4 || (length > 1 && (byte[1] < low || byte[1] > high))) {
        return 0;
    }
    for (size_t i = 2; i < length; i++) {
        if ((byte[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return length;
}

/* A string of gnuplot. Backquotes, quotes, backslashes, macros and line feeds mean something to it inside of strings
 * too, so whatever is no letter is written as its number; and as ? if it has no shape. */
static void put_quoted(FILE *stream, const char *text)
{
    (void)fputc('"', stream);
    while (*text) {
        const size_t length = character_length(text);
        const unsigned char first = (unsigned char)text[0];

        if (length == 0 || first < ' ' || first == 0x7f || (first == 0xc2 && (unsigned char)text[1] < 0xa0)) {
            (void)fputc('?', stream);
        } else if (length == 1 && !strchr(plain, *text)) {
            (void)fprintf(stream, "\\%03o", first);
        } else {
            (void)fprintf(stream, "%.*s", (int)length, text);
        }
        text += length > 0 ? length : 1;
    }
    (void)fputc('"', stream);
}

/* Names of one kind often differ at the end only, so the middle goes. */
void app__plot_label(FILE *stream, const char *text)
{
    char label[LABEL_LENGTH + 4];
    size_t length = strlen(text), front = LABEL_LENGTH / 2, back = length - LABEL_LENGTH / 2;

    if (length <= LABEL_LENGTH) {
        put_quoted(stream, text);
        return;
    }
    /* Not within a character of UTF-8. */
    while (front > 0 && ((unsigned char)text[front] & 0xc0) == 0x80) {
        front--;
    }
    while (back < length && ((unsigned char)text[back] & 0xc0) == 0x80) {
        back++;
    }
    (void)snprintf(label, sizeof label, "%.*s...%s", (int)front, text, text + back);
    put_quoted(stream, label);
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

/* Script and images while they are made. */
typedef struct drawing {
    const app_plot *plot;
    eqp_output *script, *image[MOST_IMAGES];
    int nimages, last_descriptor;
} drawing;

static int begin_file(drawing *d, const char *name, eqp_output **file, eqp_message *message)
{
    const size_t size = strlen(d->plot->dir) + strlen(name) + 2;
    char *path = malloc(size);
    int code = path ? EQP_OK : EQP_ERR_MEMORY;

    if (!code) {
        (void)snprintf(path, size, "%s/%s", d->plot->dir, name);
        eqp_output_sweep(path);
        code = eqp_output_create(path, file, message);
    }
    if (!code && eqp_output_descriptor(*file) > d->last_descriptor) {
        d->last_descriptor = eqp_output_descriptor(*file);
    }
    free(path);
    return code;
}

static int write_script(drawing *d, eqp_message *message)
{
    int code = begin_file(d, d->plot->script, &d->script, message);

    code = code ? code : d->plot->put(eqp_output_stream(d->script), d->plot->user);
    return code ? code : eqp_output_publish(d->script, message);
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

/* gnuplot gets the script and the images as descriptors, so that no name is on its command line. They come after all of
 * ours, not to close one that is still to be passed on. */
static int pass_files(const drawing *d, posix_spawn_file_actions_t *actions)
{
    int next = d->last_descriptor + 1;
    int failed = posix_spawn_file_actions_adddup2(actions, eqp_output_descriptor(d->script), next);

    for (int i = 0; i < d->nimages && !failed; i++) {
        failed = posix_spawn_file_actions_adddup2(actions, eqp_output_descriptor(d->image[i]), ++next);
    }
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && !failed; fd++) {
        failed =
            posix_spawn_file_actions_addopen(actions, fd, "/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY, 0);
    }
    return failed;
}

/* Starts gnuplot without a terminal of ours and waits. -1: it is not there; otherwise its exit status. */
static int run_gnuplot(const drawing *d)
{
    char name[] = "gnuplot", option[] = "-e", first[32], script[32];
    char *const argv[] = {name, option, first, script, NULL};
    posix_spawn_file_actions_t actions;
    int status = 0;
    bool started;
    pid_t child;

    (void)snprintf(script, sizeof script, "/dev/fd/%d", d->last_descriptor + 1);
    (void)snprintf(first, sizeof first, "first = %d", d->last_descriptor + 2);
    if (lseek(eqp_output_descriptor(d->script), 0, SEEK_SET) != 0 || posix_spawn_file_actions_init(&actions)) {
        return 1;
    }
    started = pass_files(d, &actions) == 0 && posix_spawnp(&child, "gnuplot", &actions, NULL, argv, environ) == 0;
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

/* gnuplot does not say that a disk was full; but the last bytes of an image are always the same. */
static bool is_whole(const eqp_output *image)
{
    const char *path = eqp_output_path(image);
    const char *last = strcmp(path + strlen(path) - 4, ".svg") == 0 ? "</svg>" : "IEND\xae\x42\x60\x82";
    const int fd = eqp_output_descriptor(image);
    struct stat status;
    char end[16];
    size_t n = sizeof end;

    if (fstat(fd, &status) != 0 || status.st_size < (off_t)n ||
        pread(fd, end, n, status.st_size - (off_t)n) != (ssize_t)n) {
        return false;
    }
    while (n > strlen(last) && end[n - 1] == '\n') {
        n--;
    }
    return memcmp(end + n - strlen(last), last, strlen(last)) == 0;
}

static int draw(drawing *d, eqp_message *message)
{
    const app_plot *plot = d->plot;
    const int status = run_gnuplot(d);

    if (status < 0) {
        eqp_message_set(message, "no plots: gnuplot is not installed; it draws them from %s/%s", plot->dir,
                        plot->script);
        return EQP_ERR_UNKNOWN;
    }
    for (int i = 0; i < d->nimages; i++) {
        if (status > 0 || !is_whole(d->image[i])) {
            eqp_message_set(message, "no plots: gnuplot cannot draw %s/%s", plot->dir, plot->script);
            return EQP_ERR_IO;
        }
    }
    return EQP_OK;
}

int app__plot_make(const app_plot *plot, eqp_message *message)
{
    drawing d = {.plot = plot, .last_descriptor = STDERR_FILENO};
    int code = write_script(&d, message);

    for (; plot->image[d.nimages] && !code; d.nimages += !code) {
        code = begin_file(&d, plot->image[d.nimages], &d.image[d.nimages], message);
    }
    code = code ? code : draw(&d, message);
    for (int i = 0; i < d.nimages; i++) {
        if (code) {
            eqp_output_discard(d.image[i]);
        } else {
            code = eqp_output_commit(d.image[i], message);
        }
    }
    eqp_output_discard(d.script);
    return code;
}
