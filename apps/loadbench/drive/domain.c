/* SPDX-License-Identifier: BSD-3-Clause */
#include "domain.h"

#include "../../shell/run_files.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/more/random.h>

#include <stdlib.h>
#include <string.h>

#define STREAM_VALUES (UINT64_C(1) << 44)

void lb_domain_init(lb_domain *domain, MPI_Comm comm)
{
    *domain = (lb_domain){.comm = comm};
    MPI_Comm_rank(comm, &domain->rank);
    MPI_Comm_size(comm, &domain->nranks);
}

/* Frees everything that connects a domain with other ranks. */
static void disconnect(lb_domain *domain)
{
    eqp_route_free(domain->route);
    free(domain->value_of);
    free(domain->value);
    free(domain->next);
    free(domain->sent);
    free(domain->outbox);
    domain->route = NULL;
    domain->value_of = domain->value = domain->next = domain->sent = domain->outbox = NULL;
}

void lb_domain_free(lb_domain *domain)
{
    disconnect(domain);
    free(domain->vertex);
    free(domain->edge);
    domain->vertex = NULL;
    domain->edge = NULL;
    domain->n = domain->nedges = 0;
}

static lb_vertex first_vertex(const lb_graph *graph, int64_t v, uint64_t seed)
{
    lb_vertex made = {.id = v,
                      .key = graph->key[v],
                      .base = graph->base[v],
                      .degree = graph->first[v + 1] - graph->first[v],
                      .value = (int64_t)(eqp_random_bits(seed, STREAM_VALUES, (uint64_t)v) >> 32)};

    memcpy(made.centre, graph->centre[v], sizeof made.centre);
    return made;
}

static int take_share(lb_domain *domain, const lb_graph *graph, lb_start start, uint64_t seed)
{
    int64_t edge_room = 0, vertex_room = 0;

    domain->total = graph->n;
    for (int64_t v = 0; v < graph->n; v++) {
        const int64_t degree = graph->first[v + 1] - graph->first[v];
        const lb_edge *edge = graph->edge + graph->first[v];
        int64_t heavy = 0, words = 0;
        for (int64_t e = 0; e < degree; e++) {
            heavy += edge[e].weight;
            words = edge[e].weight > words ? edge[e].weight : words;
        }
        domain->heaviest = heavy > domain->heaviest ? heavy : domain->heaviest;
        if (lb_start_rank(start, graph, v, seed, domain->nranks) == domain->rank) {
            EQP_CHECK(eqp_array_reserve(&domain->vertex, &vertex_room, domain->n + 1, sizeof *domain->vertex));
            EQP_CHECK(eqp_array_reserve(&domain->edge, &edge_room, domain->nedges + degree, sizeof *domain->edge));
            domain->vertex[domain->n] = first_vertex(graph, v, seed);
            domain->vertex[domain->n++].words = words;
            for (int64_t e = 0; e < degree; e++) {
                domain->edge[domain->nedges++] = edge[e];
            }
        }
    }
    return EQP_OK;
}

int lb_domain_fill(lb_domain *domain, const lb_generator *generator, lb_start start, uint64_t seed)
{
    lb_graph graph = {.n = 0};
    int code = lb_graph_create(generator, &graph);

    code = code == EQP_OK ? take_share(domain, &graph, start, seed) : code;
    lb_graph_free(&graph);
    return eqp_agree(domain->comm, code, NULL);
}

int64_t lb_vertex_bytes(const lb_vertex *vertex)
{
    return (int64_t)sizeof *vertex + vertex->degree * (int64_t)sizeof(lb_edge);
}

/* Vertices and edges travel separately and arrive in the same order. */
static int move_records(lb_domain *domain, const int *to, const int *edge_to)
{
    APP_FREED lb_vertex *vertex = NULL;
    APP_FREED lb_edge *edge = NULL;
    int64_t n = 0, nedges = 0;

    EQP_CHECK(eqp_send_records(domain->comm, sizeof *vertex, domain->n, to, domain->vertex, &n, &vertex));
    EQP_CHECK(eqp_send_records(domain->comm, sizeof *edge, domain->nedges, edge_to, domain->edge, &nedges, &edge));
    lb_domain_free(domain);
    domain->n = n;
    domain->nedges = nedges;
    domain->vertex = vertex;
    domain->edge = edge;
    vertex = NULL;
    edge = NULL;
    return EQP_OK;
}

int lb_domain_migrate(lb_domain *domain, const eqp_placement *placement, int64_t *migrated, int64_t *bytes)
{
    int64_t e = 0;
    int *to = NULL, *edge_to = NULL;
    int code = eqp_array_create(&to, domain->n, sizeof *to);

    code = code == EQP_OK ? eqp_array_create(&edge_to, domain->nedges, sizeof *edge_to) : code;
    EQP_TRY(eqp_agree(domain->comm, code, NULL));
    for (int64_t v = 0; v < domain->n; v++) {
        to[v] = placement[v].home;
        if (to[v] != domain->rank) {
            ++*migrated;
            *bytes += lb_vertex_bytes(&domain->vertex[v]);
        }
        for (const int64_t end = e + domain->vertex[v].degree; e < end; e++) {
            edge_to[e] = to[v];
        }
    }
    EQP_TRY(move_records(domain, to, edge_to));
done:
    free(to);
    free(edge_to);
    return code;
}

/* Ranks of the other ends of all edges: [nedges], owned by the caller. */
static int find_owners(const lb_domain *domain, int **owner)
{
    int64_t *id = NULL, *other = NULL;
    eqp_directory *directory = NULL;
    int code = eqp_array_create(&id, domain->n, sizeof *id);

    code = code == EQP_OK ? eqp_array_create(&other, domain->nedges, sizeof *other) : code;
    code = code == EQP_OK ? eqp_array_create(owner, domain->nedges, sizeof **owner) : code;
    EQP_TRY(eqp_agree(domain->comm, code, NULL));
    for (int64_t v = 0; v < domain->n; v++) {
        id[v] = domain->vertex[v].id;
    }
    for (int64_t e = 0; e < domain->nedges; e++) {
        other[e] = domain->edge[e].to;
    }
    EQP_TRY(eqp_directory_create(domain->comm, domain->n, id, &directory));
    EQP_TRY(eqp_directory_find(directory, domain->nedges, other, *owner));
done:
    eqp_directory_free(directory);
    free(id);
    free(other);
    return code;
}

static int by_rank(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Vertices that each rank needs, for a route. */
typedef struct needed {
    int64_t *id, *bytes, *first; /* [nsent], [nsent], [nsent + 1] */
    int *rank;                   /* [edges at most] */
} needed;

/* Adds the ranks that need vertex v, ascending, each once, from `first` on. */
static void need(lb_domain *domain, needed *of, int64_t v, int64_t nranks)
{
    const int64_t begin = of->first[domain->nsent];
    int64_t end = begin;

    qsort(of->rank + begin, (size_t)nranks, sizeof *of->rank, by_rank);
    for (int64_t i = begin; i < begin + nranks; i++) {
        if (end == begin || of->rank[end - 1] != of->rank[i]) {
            of->rank[end++] = of->rank[i];
        }
    }
    if (end > begin) {
        of->id[domain->nsent] = domain->vertex[v].id;
        of->bytes[domain->nsent] = domain->vertex[v].words * (int64_t)sizeof(int64_t);
        domain->bytes += of->bytes[domain->nsent];
        domain->sent[domain->nsent++] = v;
        of->first[domain->nsent] = end;
    }
}

static void list_needs(lb_domain *domain, const int *owner, needed *of)
{
    int64_t e = 0;

    domain->cut = domain->bytes = domain->nsent = 0;
    for (int64_t v = 0; v < domain->n; v++) {
        int64_t remote = 0;
        for (const int64_t end = e + domain->vertex[v].degree; e < end; e++) {
            if (owner[e] != domain->rank) {
                of->rank[of->first[domain->nsent] + remote++] = owner[e];
                domain->cut += domain->edge[e].weight;
            }
        }
        need(domain, of, v, remote);
    }
}

static int make_route(lb_domain *domain, const eqp_exchange_plan *plan, const int *owner)
{
    needed of = {.id = NULL};
    int code = eqp_array_create(&of.id, domain->n, sizeof *of.id);

    code = code == EQP_OK ? eqp_array_create(&of.bytes, domain->n, sizeof *of.bytes) : code;
    code = code == EQP_OK ? eqp_array_create(&of.first, domain->n + 1, sizeof *of.first) : code;
    code = code == EQP_OK ? eqp_array_create(&of.rank, domain->nedges, sizeof *of.rank) : code;
    code = code == EQP_OK ? eqp_array_create(&domain->sent, domain->n, sizeof *domain->sent) : code;
    EQP_TRY(eqp_agree(domain->comm, code, NULL));
    list_needs(domain, owner, &of);
    code = eqp_array_create(&domain->outbox, domain->bytes / (int64_t)sizeof *domain->outbox, sizeof *domain->outbox);
    EQP_TRY(eqp_agree(domain->comm, code, NULL));
    const eqp_route_blocks blocks = {
        .n = domain->nsent, .id = of.id, .bytes = of.bytes, .first = of.first, .rank = of.rank};
    EQP_TRY(eqp_route_create(domain->comm, plan, &blocks, &domain->route));
    EQP_TRY(eqp_route_ready(domain->route));
done:
    free(of.id);
    free(of.bytes);
    free(of.first);
    free(of.rank);
    return code;
}

/* A vertex with a value on this rank. */
typedef struct known {
    int64_t id, place;
} known;

static int by_id(const void *left, const void *right)
{
    const known *a = left, *b = right;

    return (a->id > b->id) - (a->id < b->id);
}

/* Finds the values of the other ends of all edges. */
static int find_places(lb_domain *domain)
{
    const eqp_route_view arrivals = eqp_route_arrivals(domain->route);
    const int64_t n = domain->n + arrivals.n;
    APP_FREED known *all = NULL;

    EQP_CHECK(eqp_array_create(&all, n, sizeof *all));
    EQP_CHECK(eqp_array_create(&domain->value, n, sizeof *domain->value));
    EQP_CHECK(eqp_array_create(&domain->next, domain->n, sizeof *domain->next));
    EQP_CHECK(eqp_array_create(&domain->value_of, domain->nedges, sizeof *domain->value_of));
    for (int64_t i = 0; i < n; i++) {
        all[i] = (known){i < domain->n ? domain->vertex[i].id : arrivals.id[i - domain->n], i};
    }
    qsort(all, (size_t)n, sizeof *all, by_id);
    for (int64_t e = 0; e < domain->nedges; e++) {
        const known wanted = {domain->edge[e].to, 0};
        const known *found = bsearch(&wanted, all, (size_t)n, sizeof *all, by_id);
        EQP_CHECK(found != NULL ? EQP_OK : EQP_ERR_INTERNAL);
        domain->value_of[e] = found->place;
    }
    return EQP_OK;
}

int lb_domain_connect(lb_domain *domain, const eqp_exchange_plan *plan)
{
    APP_FREED int *owner = NULL;

    disconnect(domain);
    EQP_CHECK(find_owners(domain, &owner));
    EQP_CHECK(make_route(domain, plan, owner));
    return eqp_agree(domain->comm, find_places(domain), NULL);
}

/* Only the first word of a block is used; the rest adds volume. */
int lb_domain_start(lb_domain *domain)
{
    int64_t at = 0;

    for (int64_t s = 0; s < domain->nsent; s++) {
        const lb_vertex *vertex = &domain->vertex[domain->sent[s]];
        for (int64_t word = 0; word < vertex->words; word++) {
            domain->outbox[at++] = vertex->value + word;
        }
    }
    return eqp_route_start(domain->route, domain->outbox);
}

/* The flow along an edge is antisymmetric: division rounds towards 0. */
static void diffuse(lb_domain *domain)
{
    const int64_t scale = 4 * (domain->heaviest > 0 ? domain->heaviest : 1);
    int64_t e = 0;

    for (int64_t v = 0; v < domain->n; v++) {
        const int64_t here = domain->value[v];
        domain->next[v] = here;
        for (const int64_t end = e + domain->vertex[v].degree; e < end; e++) {
            domain->next[v] += (domain->value[domain->value_of[e]] - here) * domain->edge[e].weight / scale;
        }
    }
    for (int64_t v = 0; v < domain->n; v++) {
        domain->vertex[v].value = domain->next[v];
    }
}

int lb_domain_finish(lb_domain *domain)
{
    const void *received = NULL;

    EQP_CHECK(eqp_route_finish(domain->route, &received));
    const eqp_route_view arrivals = eqp_route_arrivals(domain->route);
    for (int64_t v = 0; v < domain->n; v++) {
        domain->value[v] = domain->vertex[v].value;
    }
    for (int64_t g = 0; g < arrivals.n; g++) {
        memcpy(&domain->value[domain->n + g], (const char *)received + arrivals.offset[g], sizeof *domain->value);
    }
    diffuse(domain);
    return EQP_OK;
}

int lb_domain_check(const lb_domain *domain, uint64_t *checksum, int64_t *sum)
{
    uint64_t part = 0;

    *sum = 0;
    for (int64_t v = 0; v < domain->n; v++) {
        const uint64_t words[] = {(uint64_t)domain->vertex[v].value, domain->vertex[v].history};
        part += app_checksum_row(domain->vertex[v].id, 0, 2, words);
        *sum += domain->vertex[v].value;
    }
    *checksum = app_checksum_sum(domain->comm, part);
    return eqp_sum_int64(domain->comm, 1, sum);
}
