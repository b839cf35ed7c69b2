/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages go by a messenger that hangs on the communicator: partners are remembered from call to call. */
#include "comm/sparse.h"

#include "comm/agree.h"
#include "comm/messenger.h"

#include <equipoise/more/base.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Longer messages do not keep their memory until the next call. */
#define KEPT ((int64_t)1 << 18)

enum { FIRST_TAG = 80 };

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static int hanger_key;
static bool key_failed;

/* What hangs on a communicator. */
typedef struct hanger {
    eqp_messenger *of[EQP__SPARSE_USES];
} hanger;

static void hanger_free(hanger *h)
{
    for (int use = 0; h != NULL && use < EQP__SPARSE_USES; use++) {
        eqp_messenger_free(h->of[use]);
    }
    free(h);
}

/* The communicator is freed. */
static int forget(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)extra;
    hanger_free(value);
    return MPI_SUCCESS;
}

static void make_key(void)
{
    key_failed = eqp__key_create(MPI_COMM_NULL_COPY_FN, forget, &hanger_key) != EQP_OK;
}

static int find_hanger(MPI_Comm comm, hanger **h)
{
    int has = 0, code;

    if (pthread_once(&key_once, make_key) || key_failed ||
        MPI_Comm_get_attr(comm, hanger_key, h, &has) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    if (has) {
        return EQP_OK;
    }
    EQP_TRY(eqp_array_create(h, 1, sizeof **h));
    if (MPI_Comm_set_attr(comm, hanger_key, *h) != MPI_SUCCESS) {
        free(*h);
        EQP_TRY(EQP_ERR_MPI);
    }
done:
    return code;
}

/* Where the communicator has none yet for this use, on no rank then, all make theirs or none. Collective. */
static int find_messenger(MPI_Comm comm, int use, int code, eqp_messenger **messenger)
{
    eqp_messenger *made = NULL;
    hanger *h = NULL;
    eqp__agreement agreement;
    const int found = find_hanger(comm, &h);

    if (found == EQP_OK && h->of[use] != NULL) {
        *messenger = h->of[use];
        return EQP_OK;
    }
    code = code ? code : found;
    code = code ? code : eqp__messenger_open(comm, FIRST_TAG + use * EQP__MESSENGER_TAGS, &made);
    EQP_TRY(eqp__agree_begin(comm, code, 0, NULL, &agreement));
    EQP_TRY(eqp__agree_end(&agreement, NULL));
    *messenger = h->of[use] = made;
    made = NULL;
done:
    eqp_messenger_free(made);
    return code;
}

static int put_all(eqp_messenger *messenger, int64_t n, const int *to, const int64_t *first, const void *data)
{
    char *room;
    int code = EQP_OK;

    for (int64_t i = 0; i < n; i++) {
        EQP_TRY(eqp_messenger_put(messenger, to[i], first[i + 1] - first[i], &room));
        memcpy(room, (const char *)data + first[i], (size_t)(first[i + 1] - first[i]));
    }
done:
    return code;
}

static int take_all(const eqp_messages_view *view, eqp__sparse *came)
{
    int code;

    EQP_TRY(eqp_array_create(&came->rank, view->n, sizeof *came->rank));
    EQP_TRY(eqp_array_create(&came->first, view->n + 1, sizeof *came->first));
    for (int i = 0; i < view->n; i++) {
        EQP_TRY(came->first[i] > INT64_MAX - view->bytes[i] ? EQP_ERR_OVERFLOW : EQP_OK);
        came->rank[i] = view->rank[i];
        came->first[i + 1] = came->first[i] + view->bytes[i];
    }
    EQP_TRY(eqp_array_create(&came->data, came->first[view->n], 1));
    for (int i = 0; i < view->n; i++) {
        memcpy(came->data + came->first[i], view->data[i], (size_t)view->bytes[i]);
    }
    came->n = view->n;
done:
    return code;
}

int eqp__sparse_send(MPI_Comm comm, int use, int code, int nleast, int64_t *least, int64_t n, const int *to,
                     const int64_t *first, const void *data, eqp__sparse *came, int *alone)
{
    eqp_messenger *messenger = NULL;
    const int found = comm == MPI_COMM_NULL ? EQP_ERR_ARGUMENT : find_messenger(comm, use, code, &messenger);

    *came = (eqp__sparse){0};
    *alone = EQP_OK;
    if (found) {
        return found;
    }
    code = code ? code : put_all(messenger, n, to, first, data);
    EQP_TRY(eqp__messenger_send(messenger, code, nleast, least));
    EQP_TRY(eqp__messenger_finish(messenger, least, alone));
    const eqp_messages_view view = eqp_messenger_came(messenger);
    *alone = *alone ? *alone : take_all(&view, came);
    if (*alone) {
        eqp__sparse_free(came);
    }
    eqp__messenger_trim(messenger, KEPT);
done:
    return code;
}

void eqp__sparse_free(eqp__sparse *came)
{
    free(came->rank);
    free(came->first);
    free(came->data);
    *came = (eqp__sparse){0};
}
