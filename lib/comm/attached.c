/* SPDX-License-Identifier: BSD-3-Clause */
/* State on communicators: messengers, and the sums of a traffic watch. MPI finds such state by keys that are valid in
 * the whole process; these keys are the only global variables of the library, created once and never changed. */
#include "base/internal.h"
#include "comm/agree.h"
#include "comm/messenger.h"

#include <pthread.h>

enum { FIRST_TAG = 80 };

typedef struct messengers {
    eqp_messenger *of[EQP__PURPOSES];
} messengers;

static pthread_once_t keys_once = PTHREAD_ONCE_INIT;
static int messengers_key, traffic_key;
static bool keys_failed;

static int free_messengers(MPI_Comm comm, int key, void *value, void *extra)
{
    messengers *const list = value;

    (void)comm, (void)key, (void)extra;
    for (int p = 0; p < EQP__PURPOSES; p++) {
        eqp_messenger_free(list->of[p]);
    }
    free(list);
    return MPI_SUCCESS;
}

static int free_keys(MPI_Comm self, int key, void *value, void *extra)
{
    (void)self, (void)key, (void)value, (void)extra;
    (void)MPI_Comm_free_keyval(&messengers_key);
    (void)MPI_Comm_free_keyval(&traffic_key);
    return MPI_SUCCESS;
}

/* MPI_Finalize() deletes the attributes of MPI_COMM_SELF first (MPI 4.0, 11.2.4). The sums of traffic are inherited by
 * duplicates of a communicator, messengers are not. */
static void create_keys(void)
{
    int end;

    keys_failed =
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_messengers, &messengers_key, NULL) != MPI_SUCCESS ||
        MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &traffic_key, NULL) != MPI_SUCCESS;
    if (!keys_failed && MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_keys, &end, NULL) == MPI_SUCCESS) {
        (void)MPI_Comm_set_attr(MPI_COMM_SELF, end, NULL); /* if this fails, the keys are not freed */
        (void)MPI_Comm_free_keyval(&end);
    }
}

static bool have_keys(void)
{
    return pthread_once(&keys_once, create_keys) == 0 && !keys_failed;
}

static int find_messengers(MPI_Comm comm, messengers **list)
{
    int found = 0;

    EQP_CHECK(have_keys() && MPI_Comm_get_attr(comm, messengers_key, list, &found) == MPI_SUCCESS ? EQP_OK
                                                                                                  : EQP_ERR_MPI);
    if (!found) {
        EQP_CHECK(eqp_array_create(list, 1, sizeof **list));
        if (MPI_Comm_set_attr(comm, messengers_key, *list) != MPI_SUCCESS) {
            free(*list);
            EQP_CHECK(EQP_ERR_MPI);
        }
    }
    return EQP_OK;
}

int eqp__attached_messenger(MPI_Comm comm, int purpose, int code, eqp_messenger **messenger)
{
    eqp_messenger *made = NULL;
    messengers *list = NULL;

    EQP__FAIL_IF(comm == MPI_COMM_NULL, EQP_ERR_ARGUMENT);
    const int found = find_messengers(comm, &list);
    if (found == EQP_OK && list->of[purpose] != NULL) {
        *messenger = list->of[purpose];
        return EQP_OK;
    }
    code = code ? code : found;
    code = code ? code
                : eqp__messenger_open(comm, FIRST_TAG + purpose * EQP__MESSENGER_TAGS, purpose != EQP__SINGLE_SENDS,
                                      &made);
    EQP_TRY(eqp_agree(comm, code, NULL));
    *messenger = list->of[purpose] = made;
    made = NULL;
done:
    eqp_messenger_free(made);
    return code;
}

static int64_t *watched(MPI_Comm comm)
{
    int64_t *bytes = NULL;
    int found = 0;

    if (comm == MPI_COMM_NULL || !have_keys() || MPI_Comm_get_attr(comm, traffic_key, &bytes, &found) != MPI_SUCCESS ||
        !found) {
        return NULL;
    }
    return bytes;
}

const int64_t *eqp_traffic_watched(MPI_Comm comm)
{
    return watched(comm);
}

int eqp_traffic_watch(MPI_Comm comm, int64_t *bytes)
{
    EQP_REQUIRE(comm != MPI_COMM_NULL);
    return have_keys() && MPI_Comm_set_attr(comm, traffic_key, bytes) == MPI_SUCCESS ? EQP_OK : EQP_ERR_MPI;
}

void eqp__traffic_add(MPI_Comm comm, int to, int64_t bytes)
{
    int64_t *const sum = watched(comm);

    if (sum != NULL) {
        sum[to] += bytes;
    }
}
