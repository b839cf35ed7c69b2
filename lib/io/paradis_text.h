/* SPDX-License-Identifier: BSD-3-Clause */
/* Text as ParaDiS reads it: lines of a file that may be packed, `key = value`, numbers that end where they should. */
#ifndef EQP_IO_PARADIS_TEXT_H
#define EQP_IO_PARADIS_TEXT_H

#include <equipoise/more/base.h>
#include <equipoise/more/io.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <zlib.h>

/** Checks a node without the rest of the network: it names every neighbour once and not itself; its
 * Burgers vectors are not 0; they sum to 0 (within 1e-3 of the largest) if it is free (constraint 0) and has two arms
 * or more; and with one arm it is pinned in all directions or lies on a surface. Local, O(arms^2).
 * \param[in]  node     first_arm is not used (borrowed)
 * \param[in]  arm      [node->narms] its arms (borrowed)
 * \param[out] message  "node D,I: what"; may be NULL; unchanged on success
 * \return EQP_OK, EQP_ERR_FORMAT */
int eqp__paradis_check_node(const eqp_paradis_node *node, const eqp_paradis_arm *arm, eqp_message *message);

/** Folds a position into the box, min <= x < max, in the directions that are periodic. O(1).
 * \param[in]     min, max  corners of the box
 * \param[in]     periodic  which directions are
 * \param[in,out] x         finite */
void eqp__paradis_fold(const double min[3], const double max[3], const bool periodic[3], double x[3]);

/** Writes a `.ctrl` file with all parameters that are given, under a temporary name first: an older file is replaced
 * whole or not at all. Numbers have all digits. Local, one rank.
 * \return EQP_OK, EQP_ERR_ARGUMENT for a name with characters that no string can hold, EQP_ERR_IO, EQP_ERR_MEMORY */
int eqp__paradis_control_write(const char *path, const eqp_paradis_control *control, eqp_message *message);

/* Begins a comment that has a meaning. */
#define EQP__VELOCITY "#velocity "

typedef struct eqp__lines {
    char *path; /* owned */
    gzFile file;
    int64_t size;      /* bytes on the disk */
    bool packed;       /* with gzip */
    bool need_newline; /* a last line without one is refused */
    int64_t line;      /* number of the last line given out, from 1 */
    char *buffer;      /* owned */
    size_t begin, end; /* what is fetched and not given out */
    bool ended;        /* nothing is left to fetch */
    bool keeps;        /* what eqp__lines_next() gives out is kept, too, a line each: */
    char *kept;        /* [nkept + 1] owned, NULL: none */
    int64_t nkept, kept_room;
    char velocity[96]; /* of the last comment that began with EQP__VELOCITY, without that; empty: none */
} eqp__lines;

/* On error *lines holds nothing. */
int eqp__lines_open(const char *path, eqp__lines *lines, eqp_message *message);
void eqp__lines_close(eqp__lines *lines);

/* The next line that is neither blank nor a comment, without its comment; good until the next call. NULL at the end. */
int eqp__lines_next(eqp__lines *lines, char **text, eqp_message *message);

/* paradis_control.c. What the reader would refuse must not be written; parameters as the lines of a `.ctrl` file,
 * each behind a prefix. */
int eqp__control_check(const char *path, const eqp_paradis_control *control, eqp_message *message);
void eqp__control_put(FILE *to, const char *prefix, const eqp_paradis_control *control);

/* "PATH: line N: ..."; returns code. */
int eqp__lines_refuse(const eqp__lines *lines, int code, eqp_message *message, const char *format, ...)
    EQP_PRINTF(4, 5);

enum { EQP__VALUES = 8, EQP__VALUE_BYTES = 64 };

/* `key = value` or `key = [ values ]`. */
typedef struct eqp__statement {
    char key[EQP__VALUE_BYTES];
    bool is_list;
    int64_t nvalues;                           /* of which the first EQP__VALUES are kept */
    char value[EQP__VALUES][EQP__VALUE_BYTES]; /* without quotes */
    bool too_long[EQP__VALUES];                /* the value was cut */
} eqp__statement;

/* Takes a statement apart that begins in this line; a list may go on in lines that follow. */
int eqp__statement_read(eqp__lines *lines, char *text, eqp__statement *statement, eqp_message *message);

/* Is it a statement with this key? Its value is not looked at. Capital letters do not count. */
bool eqp__line_has_key(const char *text, const char *key);

/* Values [0, n) of a statement that must have n. A number that is not finite: EQP_ERR_DATA. */
int eqp__statement_reals(const eqp__lines *lines, const eqp__statement *statement, int n, double *value,
                         eqp_message *message);
int eqp__statement_integers(const eqp__lines *lines, const eqp__statement *statement, int n, int64_t low, int64_t high,
                            int64_t *value, eqp_message *message);

/* One number at *at, which moves behind it. EQP_ERR_FORMAT: there is none; EQP_ERR_DATA: it is not finite, or does not
 * fit. Nothing is said. */
int eqp__take_real(char **at, double *value);
int eqp__take_integer(char **at, int64_t *value);
/* `domain,index` */
int eqp__take_tag(char **at, uint64_t *tag);
/* Nothing but blanks and perhaps a semicolon is left. */
bool eqp__at_end(const char *at);

/* paradis_header.c. Up to the line `nodalData =`, of which eqp__paradis_nodes_begin() looks at the rest. */
int eqp__paradis_header_read(eqp__lines *lines, eqp_paradis_header *header, eqp_message *message);
int eqp__paradis_nodes_begin(const eqp__lines *lines, const char *text, eqp_message *message);

#endif
