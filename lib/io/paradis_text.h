/* SPDX-License-Identifier: BSD-3-Clause */
/* Text in the format of ParaDiS: lines of a possibly packed file, `key = value`, and numbers with strict ends. */
#ifndef EQP_IO_PARADIS_TEXT_H
#define EQP_IO_PARADIS_TEXT_H

#include "io/text.h"

#include <equipoise/more/base.h>
#include <equipoise/more/io.h>

/** Checks a node without the rest of the network: it names every neighbour once and not itself; its Burgers vectors
 * are nonzero; they sum to 0 (within 1e-3 of the largest) if it is free (constraint 0) and has two arms or more; and
 * with one arm it is pinned in all directions or lies on a surface. Local, O(arms^2).
 * \param[in]  node     first_arm is not used (borrowed)
 * \param[in]  arm      [node->narms] its arms (borrowed)
 * \param[out] message  "node D,I: what"; may be NULL; unchanged on success
 * \return EQP_OK, EQP_ERR_FORMAT */
int eqp__paradis_check_node(const eqp_paradis_node *node, const eqp_paradis_arm *arm, eqp_message *message);

/* Starts a comment with a velocity. */
#define EQP__VELOCITY "#velocity "

typedef struct eqp__lines {
    char *path; /* owned */
    eqp__text text;
    bool need_newline; /* true: a last line without newline is refused */
    bool keeps;        /* true: lines that eqp__lines_next() returns are also appended to `kept` */
    char *kept;        /* [nkept + 1] owned, NULL: none */
    int64_t nkept, kept_room;
    char velocity[96]; /* text after EQP__VELOCITY of the last such comment; "": none */
} eqp__lines;

/* *lines is empty on error. */
int eqp__lines_open(const char *path, eqp__lines *lines, eqp_message *message);
void eqp__lines_close(eqp__lines *lines);
#define EQP__LINES EQP__AT_END(eqp__lines_close) eqp__lines

/* The next line that is neither blank nor a comment, without its comment; valid until the next call. NULL at the
 * end. */
int eqp__lines_next(eqp__lines *lines, char **text, eqp_message *message);

/* paradis_control.c. Checks for values that the reader would refuse; writes parameters as lines of a `.ctrl` file,
 * each after a prefix. */
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
    int64_t nvalues;                           /* the first EQP__VALUES are kept */
    char value[EQP__VALUES][EQP__VALUE_BYTES]; /* without quotes */
    bool too_long[EQP__VALUES];                /* the value was cut */
} eqp__statement;

/* Parses a statement that begins in this line; a list may continue in later lines. */
int eqp__statement_read(eqp__lines *lines, char *text, eqp__statement *statement, eqp_message *message);

/* True if the line is a statement with this key, in upper or lower case. Its value is not checked. */
bool eqp__line_has_key(const char *text, const char *key);

/* Values [0, n) of a statement that must have n values. EQP_ERR_DATA for a number that is not finite. */
int eqp__statement_reals(const eqp__lines *lines, const eqp__statement *statement, int n, double *value,
                         eqp_message *message);
int eqp__statement_integers(const eqp__lines *lines, const eqp__statement *statement, int n, int64_t low, int64_t high,
                            int64_t *value, eqp_message *message);

/* Parses one number and moves *at past it. EQP_ERR_FORMAT: no number; EQP_ERR_DATA: not finite, or out of range.
 * Sets no message. */
int eqp__take_real(char **at, double *value);
int eqp__take_integer(char **at, int64_t *value);
/* `domain,index` */
int eqp__take_tag(char **at, uint64_t *tag);
/* True if only blanks and at most a semicolon are left. */
bool eqp__at_end(const char *at);

/* paradis_header.c. Reads up to the line `nodalData =`; eqp__paradis_nodes_begin() checks the rest of it. */
int eqp__paradis_header_read(eqp__lines *lines, eqp_paradis_header *header, eqp_message *message);
int eqp__paradis_nodes_begin(const eqp__lines *lines, const char *text, eqp_message *message);

#endif
