/* SPDX-License-Identifier: BSD-3-Clause */
/* Offers to the ranks that make maps, the making, and the answers. An offer holds the survey of a rank and the
 * options of the method. An answer holds the placements of that rank's owners at the time of the offer, and the
 * table of shared owners.
 * Owners may change before the map arrives. The offer therefore gives each owner a label that follows its content;
 * an owner gets the placement of the offered owner with its label. */
#ifndef EQUIPOISE_LATE_OFFER_H
#define EQUIPOISE_LATE_OFFER_H

#include "run/run.h"

#include <equipoise/more/lazy.h>

/* An owner as 64-bit words. Words equal in all owners of an offer (unused kinds, labels, homes) are sent once. */
enum { EQP__OWNER_WORDS = sizeof(eqp_owner) / sizeof(uint64_t) };

/* Start of an offer, followed by the front (rank 0 only), then names, owners, pins, tiles, and the loads of phases
 * if there are several. */
typedef struct eqp__late_head {
    char magic[8];
    int64_t front; /* bytes of base [nbase], speeds [nspeeds], factors [nfactors] and the table of the present map */
    int64_t nbase, nspeeds, nfactors;
    eqp__table_size table;
    int64_t nnames, nowners, npins, ntiles;
    uint64_t usual[EQP__OWNER_WORDS]; /* of the first owner */
    uint64_t varies;                  /* bit w: word w differs between owners; only such words follow */
    char word[EQP_WORD_SIZE];         /* of the method */
    eqp_sample_strategy strategy;     /* default options of words */
    double rate, threshold;
    double imbalance_tol, assign_tol, branch, aspect, life;
    uint64_t seed;
    eqp_exchange_plan plan;
    eqp_network network;
    int64_t plan_auto, has_map, once, apart;
    eqp_cycle_turns phases; /* of the survey; n 0: one phase */
    double nominal[EQP_COST_KINDS];
    eqp_costs costs;
    eqp_overheads overheads;
    eqp_units_totals totals;
} eqp__late_head;

/* Start of an answer, followed by the table and placements [nplacements]. */
typedef struct eqp__late_answer {
    char magic[8];
    int64_t kept; /* true: the present map is the best, and nothing follows */
    int64_t nplacements;
    eqp__table_size table;
    eqp_exchange_plan plan;
    eqp_map_made made;
    char chosen[EQP_WORD_SIZE];
    char why[192];
} eqp__late_answer;

/* A parsed offer: arrays in its bytes, possibly unaligned. */
typedef struct eqp__late_offer {
    int rank;
    eqp__late_head head;
    int nwords, word[EQP__OWNER_WORDS]; /* indices of the words that follow */
    const unsigned char *front, *names, *owners, *pins, *tiles, *phases;
} eqp__late_offer;

/* Indices of the words that follow for each owner, [EQP__OWNER_WORDS]; returns their number. Local. */
int eqp__late_words(const eqp__late_head *head, int *word);

/* pack.c. bytes: borrowed from the eqp_lazy until they are offered. Local. */
int eqp__late_offer_write(const eqp_balancer *b, const eqp_names *home, const eqp_map_options *options, double life,
                          size_t *size, void **bytes);

/* Parses an offer; it borrows the parcel. EQP_ERR_FORMAT for other bytes. Local. */
int eqp__late_offer_read(const eqp_lazy_parcel *parcel, int nranks, eqp__late_offer *offer);

/* Writes the part of `found` for n owners from `first` on. answer: bytes owned by the caller. Local. */
int eqp__late_answer_write(const eqp_balancer *b, const eqp_new_map *found, int64_t first, int64_t n,
                           eqp_lazy_parcel *answer);

/* found: zeros; owned by the caller. nhome: owners in the offer. Local. */
int eqp__late_answer_read(const eqp_lazy_parcel *parcel, int nranks, int64_t nhome, eqp__late_answer *answer,
                          eqp_new_map *found);

/* make.c: an eqp_lazy_make_fn; user: the eqp_methods of the problem, or NULL. */
int eqp__late_make(void *user, MPI_Comm balancers, int nranks, int64_t n, const eqp_lazy_parcel *offer,
                   eqp_lazy_parcel *answer);

/* repair.c: evens out a late map by the work of the last step, moving few owners; describes that in `why`.
 * Collective. */
int eqp__late_repair(eqp_balancer *b, const eqp_names *home, const eqp_map_options *options, eqp_new_map *found,
                     int64_t *bytes, eqp_message *message);

#endif
