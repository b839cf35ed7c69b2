/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages go by a messenger that hangs on the communicator: partners are remembered from call to call. */
#include "par/sparse.h"

#include "par/comm.h"
#include "par/messenger.h"

#include <equipoise/par.h>

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

static int hanger_create(MPI_Comm comm, hanger **h)
{
    int code;

    EQP_TRY(eqp_array_create(h, 1, sizeof **h));
    for (int use = 0; use < EQP__SPARSE_USES; use++) {
        EQP_TRY(eqp__messenger_open(comm, FIRST_TAG + use * EQP__MESSENGER_TAGS, &(*h)->of[use]));
    }
done:
    return code;
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

/* MPI_Finalize() deletes what hangs on MPI_COMM_SELF first (MPI 4.0, 11.2.4). */
static int free_key(MPI_Comm self, int key, void *value, void *extra)
{
    (void)self;
    (void)key;
    (void)value;
    (void)extra;
    return MPI_Comm_free_keyval(&hanger_key);
}

static void make_key(void)
{
    int end;

    key_failed = MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &hanger_key, NULL) != MPI_SUCCESS;
    if (key_failed || MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_key, &end, NULL) != MPI_SUCCESS) {
        return;
    }
    /* Without it a key is left behind, and nothing else. */
    (void)MPI_Comm_set_attr(MPI_COMM_SELF, end, &hanger_key);
    (void)MPI_Comm_free_keyval(&end);
}

/* Where the communicator has none yet, on no rank then, all make theirs or none. Collective. */
static int find_messenger(MPI_Comm comm, int code, eqp__sparse_use use, eqp_messenger **messenger)
{
    hanger *made = NULL, *found = NULL;
    eqp__agreement agreement;
    int has = 0;

    if (comm == MPI_COMM_NULL) {
        return EQP_ERR_ARGUMENT;
    }
    if (pthread_once(&key_once, make_key) || key_failed ||
        MPI_Comm_get_attr(comm, hanger_key, &found, &has) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    if (!has) {
        code = code ? code : hanger_create(comm, &made);
        EQP_TRY(eqp__agree_begin(comm, code, 0, NULL, &agreement));
        EQP_TRY(eqp__agree_end(&agreement, NULL));
        EQP_TRY(MPI_Comm_set_attr(comm, hanger_key, made) == MPI_SUCCESS ? EQP_OK : EQP_ERR_MPI);
        found = made;
        made = NULL;
    }
    *messenger = found->of[use];
    code = EQP_OK;
done:
    hanger_free(made);
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

int eqp__sparse_send(MPI_Comm comm, eqp__sparse_use use, int code, int nleast, int64_t *least, int64_t n, const int *to,
                     const int64_t *first, const void *data, eqp__sparse *came, int *alone)
{
    eqp_messenger *messenger = NULL;

    *came = (eqp__sparse){0};
    *alone = EQP_OK;
    int found = find_messenger(comm, code, use, &messenger);

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
done:
    eqp__messenger_trim(messenger, KEPT);
    return code;
}

void eqp__sparse_free(eqp__sparse *came)
{
    free(came->rank);
    free(came->first);
    free(came->data);
    *came = (eqp__sparse){0};
}
