/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/bytes.h"
#include "map/phased.h"

#include "base/internal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void eqp__pass(eqp__cursor *c, void *data, size_t size)
{
    if (size > 0) {
        memcpy(c->reads ? data : (void *)c->at, c->reads ? (const void *)c->at : data, size);
    }
    c->at += size;
}

eqp__table_size eqp__table_of(const eqp_map *map)
{
    const double *centroid;
    const int *rank;
    int nphases;
    eqp__table_size size = {.nphased = eqp_map_phased(map, &nphases, NULL)};

    size.nshared = eqp_map_shared(map) - size.nphased;
    size.nphases = nphases;
    for (int64_t s = 0; s < size.nshared; s++) {
        size.nunits += eqp_map_units(map, -1 - s, &centroid, &rank);
    }
    return size;
}

size_t eqp__table_bytes(const eqp__table_size *size)
{
    return (size_t)size->nshared * sizeof(int64_t) + (size_t)size->nunits * (3 * sizeof(double) + sizeof(int)) +
           (size_t)(size->nphased * size->nphases) * sizeof(int);
}

bool eqp__can_be_table(const eqp__table_size *size, size_t bytes)
{
    const int64_t most = (int64_t)(bytes / sizeof(int));

    return size->nshared >= 0 && size->nunits >= size->nshared && size->nunits <= most && size->nphased >= 0 &&
           size->nphased <= most && size->nphases >= 0 && size->nphases <= EQP_CYCLE_PHASES &&
           (size->nphased > 0) == (size->nphases > 0);
}

void eqp__table_write(eqp__cursor *c, const eqp_map *map)
{
    const double *centroid;
    const int *rank;
    int nphases;
    const int64_t nphased = eqp_map_phased(map, &nphases, NULL), nshared = eqp_map_shared(map) - nphased;

    for (int64_t s = 0; s < nshared; s++) {
        int64_t n = eqp_map_units(map, -1 - s, &centroid, &rank);
        eqp__pass(c, &n, sizeof n);
    }
    for (int64_t s = 0; s < nshared; s++) {
        const int64_t n = eqp_map_units(map, -1 - s, &centroid, &rank);
        for (int64_t u = 0; u < n; u++) {
            double place[3] = {centroid[3 * u], centroid[3 * u + 1], centroid[3 * u + 2]};
            int of = rank[u];
            eqp__pass(c, place, sizeof place);
            eqp__pass(c, &of, sizeof of);
        }
    }
    (void)eqp_map_phased(map, NULL, &rank);
    eqp__pass(c, (void *)(uintptr_t)rank, (size_t)(nphased * nphases) * sizeof *rank);
}

int eqp__table_read(eqp__cursor *c, const eqp__table_size *size, int nranks, eqp_map **map)
{
    const int64_t nphased = size->nphased * size->nphases;
    int64_t *nunits = NULL, all = 0;
    double *centroid = NULL;
    int *rank = NULL, *phased = NULL;
    eqp_map *made = NULL;
    int code;

    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(phased, nphased), EQP__ARRAY(nunits, size->nshared),
                        EQP__ARRAY(centroid, 3 * size->nunits), EQP__ARRAY(rank, size->nunits)));
    eqp__pass(c, nunits, (size_t)size->nshared * sizeof *nunits);
    for (int64_t s = 0; s < size->nshared && all >= 0; s++) {
        all = nunits[s] >= 1 && nunits[s] <= size->nunits - all ? all + nunits[s] : -1;
    }
    for (int64_t u = 0; u < size->nunits; u++) {
        eqp__pass(c, centroid + 3 * u, 3 * sizeof *centroid);
        eqp__pass(c, rank + u, sizeof *rank);
        all = rank[u] >= 0 && rank[u] < nranks ? all : -1;
    }
    eqp__pass(c, phased, (size_t)nphased * sizeof *phased);
    for (int64_t i = 0; i < nphased; i++) {
        all = phased[i] >= 0 && phased[i] < nranks ? all : -1;
    }
    EQP_TRY(all == size->nunits ? EQP_OK : EQP_ERR_FORMAT);
    EQP_TRY(eqp_map_create(size->nshared, nunits, centroid, rank, &made));
    EQP_TRY(nphased > 0 ? eqp__map_add_phased(made, size->nphased, (int)size->nphases, phased) : EQP_OK);
    *map = made;
    made = NULL;
done:
    eqp_map_free(made);
    EQP__FREE(phased, rank, centroid, nunits);
    return code == EQP_ERR_ARGUMENT ? EQP_ERR_FORMAT : code;
}
