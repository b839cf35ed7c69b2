/* SPDX-License-Identifier: BSD-3-Clause */
#include "signals.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include <equipoise/error.h>

/* A handler has no arguments of ours, so these are the one place of an app that is not on a stack. */
static volatile sig_atomic_t pending;
static bool installed;
static struct sigaction old_interrupt, old_terminate, old_too_large;

static void take_note(int signal_number)
{
    if (!pending) {
        pending = signal_number;
    }
}

int app_signals_install(void)
{
    struct sigaction action;

    if (installed) {
        return EQP_ERR_STATE;
    }
    memset(&action, 0, sizeof action);
    action.sa_handler = take_note;
    /* Reads and writes that a signal meets go on: only the main loop reacts. */
    action.sa_flags = SA_RESTART;
    (void)sigemptyset(&action.sa_mask);
    pending = 0;
    if (sigaction(SIGINT, &action, &old_interrupt)) {
        return EQP_ERR_INTERNAL;
    }
    if (sigaction(SIGTERM, &action, &old_terminate)) {
        (void)sigaction(SIGINT, &old_interrupt, NULL);
        return EQP_ERR_INTERNAL;
    }
    action.sa_handler = SIG_IGN;
    if (sigaction(SIGXFSZ, &action, &old_too_large)) {
        (void)sigaction(SIGINT, &old_interrupt, NULL);
        (void)sigaction(SIGTERM, &old_terminate, NULL);
        return EQP_ERR_INTERNAL;
    }
    installed = true;
    return EQP_OK;
}

int app_signals_pending(void)
{
    return (int)pending;
}

void app_signals_restore(void)
{
    if (installed) {
        (void)sigaction(SIGINT, &old_interrupt, NULL);
        (void)sigaction(SIGTERM, &old_terminate, NULL);
        (void)sigaction(SIGXFSZ, &old_too_large, NULL);
        installed = false;
    }
}
