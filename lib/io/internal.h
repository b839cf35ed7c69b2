/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the readers and writers: the table of formats, an open snapshot, checked access to files. */
#ifndef EQP_IO_INTERNAL_H
#define EQP_IO_INTERNAL_H

#include <equipoise/snapshot.h>

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Calls a function with the address of the variable at the end of its block, as GCC and clang can. */
#define EQP__AT_END(function) __attribute__((cleanup(function), unused))

static inline void eqp__free_at(void *pointer)
{
    free(*(void **)pointer);
}

/* EQP__HEAP double *x = NULL; frees x at the end of the block. */
#define EQP__HEAP EQP__AT_END(eqp__free_at)

/* Limit of particles in one file; counts are checked against it before any arithmetic. */
#define EQP__MOST_PARTICLES ((int64_t)1 << 48)

/* Rows in a conversion buffer. */
#define EQP__BLOCK_ROWS 16384

/* Header of one file. `total` counts all files of the set; only the bits in total_mask are known. */
typedef struct eqp__header {
    char format[32];
    int ntypes, nfiles;
    int64_t n[EQP_SNAPSHOT_TYPES];
    int64_t total[EQP_SNAPSHOT_TYPES];
    uint64_t total_mask;             /* 0: the file has no totals */
    double mass[EQP_SNAPSHOT_TYPES]; /* mass of every particle of a type; 0: each has its own */
    double time, redshift, box_size, omega0, omega_lambda, hubble;
    double velocity_factor; /* value read / value stored */
    bool cosmological, has_ids;
    bool has_units;
    bool has_masses;                      /* of all particles of the file */
    uint32_t at_rest;                     /* bit t: type t has no velocities */
    int64_t left_out[EQP_SNAPSHOT_TYPES]; /* particles without positions: in total, but not in n */
    eqp_message note;                     /* for the user; "": none */
} eqp__header;

typedef struct eqp__file {
    char *path;
    int64_t first, n; /* range of its particles in the global order */
    int64_t size;     /* decompressed size; -1: not known before the file is loaded */
    eqp__header header;
    void *detail; /* owned by the format */
} eqp__file;

/* Ordered list of files. */
typedef struct eqp__pieces {
    int64_t n, capacity;
    char **path; /* [n] */
} eqp__pieces;

/* file.c. An open file; {.fd = -1}: none. */
typedef struct eqp__source {
    const char *path; /* (borrowed) */
    int fd;
    void *packed; /* zlib's file; NULL if the file is not compressed */
    int64_t size; /* decompressed */
} eqp__source;

/* size: decompressed size as found before; -1: not known, which costs a compressed file one decompression. source is
 * unchanged on error. */
int eqp__source_open(const char *path, int64_t size, eqp__source *source, eqp_message *message);
int eqp__source_read(const eqp__source *source, void *to, size_t bytes, int64_t offset, eqp_message *message);
void eqp__source_close(eqp__source *source);
#define EQP__SOURCE EQP__AT_END(eqp__source_close) eqp__source

/* A column of numbers in rows of bytes, and the array for it. */
typedef struct eqp__field {
    double *real;  /* or NULL */
    int64_t *id;   /* or NULL */
    int at, width; /* bytes: its place in a row, its width: 4 or 8 */
} eqp__field;

/* Reads n rows of `row` bytes from offset on. Nothing is read if no array is given. */
int eqp__source_fields(const eqp__source *source, bool big, int64_t offset, int row, int nfields,
                       const eqp__field *field, int64_t n, eqp_message *message);

/* Describes a known kind of file that is not read, given its first bytes; NULL: not a known kind. */
const char *eqp__source_stranger(const unsigned char *head, size_t length);

typedef struct eqp__probe {
    const eqp__source *source;
    int64_t size;
    size_t length; /* of head */
    unsigned char head[4096];
} eqp__probe;

/* A file format: one source file of this folder and one row of the table in snapshot.c, which also words the message
 * about unknown formats. */
typedef struct eqp__format {
    /* True for a file of this format, intact or damaged. */
    bool (*probe)(const eqp__probe *probe);
    /* Finds the files that a virtual file maps, and the header with the counts of all of them. The caller frees pieces,
     * also on error. NULL: the format has no virtual files. */
    int (*find_pieces)(const eqp__file *file, eqp__header *header, eqp__pieces *pieces, bool *is_virtual,
                       eqp_message *message);
    /* Fills header and detail of file->path. On entry both are zero except for has_masses, which is true. Frees detail
     * on error. */
    int (*load)(eqp__file *file, eqp_message *message);
    /* Reads n particles of one type, `first` counted within that type of that file. Never called for types, for
     * masses that the header has, or for missing ids, velocities or masses. */
    int (*read)(const eqp__file *file, int type, int64_t first, int64_t n, const eqp_snapshot_arrays *to,
                eqp_message *message);
    /* As read, for one of the caller's columns; NULL: the format has none. */
    int (*read_column)(const eqp__file *file, int type, int64_t first, int64_t n, const eqp_column *column,
                       void *const *data, eqp_message *message);
    /* NULL: the format has none. */
    int (*get_attribute)(const eqp__file *file, eqp_attribute *attribute, eqp_message *message);
    /* NULL: the format has none. */
    int (*get_words)(const eqp__file *file, int64_t *nwords, uint64_t **words, eqp_message *message);
    /* Frees the detail. May be NULL. */
    void (*release)(void *detail);
} eqp__format;

/* The dataset of the caller's words, and the attribute that counts them. */
#define EQP__WORDS "Words"
#define EQP__NWORDS "NumWords"

extern const eqp__format eqp__format_gadget_hdf5, eqp__format_gadget_binary, eqp__format_tipsy, eqp__format_text;

struct eqp_snapshot {
    const eqp__format *format;
    eqp_snapshot_info info;
    eqp__file *file; /* [info.nfiles] */
    int64_t capacity;
    int64_t left_out[EQP_SNAPSHOT_TYPES]; /* particles without positions in all files, not in info */
};

/* set.c. Loads all files of a snapshot, given the path of one. snapshot->format is set. */
int eqp__set_load(eqp_snapshot *snapshot, const char *path, eqp_message *message);
void eqp__set_free(eqp_snapshot *snapshot);

/* Decides whether velocities are converted. comoving: 1 yes, 0 no, -1 not in the file. */
void eqp__header_convert_velocity(eqp__header *header, int comoving, double exponent);

/* The rule for files without a flag. */
bool eqp__is_cosmological(double time, double redshift, double omega0);

/* Refuses times that are not finite and negative counts and masses. */
int eqp__header_check(const eqp__file *file, eqp_message *message);

/* file.c. Opens a regular file for reading. Refuses anything else; never blocks on a pipe. */
int eqp__file_open(const char *path, int *fd, int64_t *size, eqp_message *message);
int eqp__file_read(int fd, const char *path, void *to, size_t bytes, int64_t offset, eqp_message *message);
void eqp__file_close(int fd);

/* file.c. True for HDF5. */
bool eqp__hdf5_probe(const eqp__probe *probe);

/* file.c. Sets the message for EQP_ERR_MEMORY. Returns rc. */
int eqp__explain(int rc, const char *path, eqp_message *message);

/* file.c. Concatenates path and suffix; the caller frees it. */
int eqp__path_join(const char *path, const char *suffix, char **joined);

/* hdf5_write.c. Name of file k: the target or target.k.hdf5; the caller frees it. */
int eqp__layout_path(const char *path, const eqp_snapshot_layout *layout, int k, char **name);
/* First particle of a type in file k of the layout, counted within the type; k = nfiles gives all. */
int64_t eqp__layout_first(const eqp_snapshot_layout *layout, int type, int k);
int eqp__layout_files(const eqp_snapshot_layout *layout);
/* The structs of a caller as this version knows them: `here` filled, or NULL for a struct that cannot be read. */
const eqp_snapshot_layout *eqp__layout_known(const eqp_snapshot_layout *layout, eqp_snapshot_layout *here);
const eqp_snapshot_arrays *eqp__arrays_known(const eqp_snapshot_arrays *arrays, eqp_snapshot_arrays *here);

/* Refuses a layout that cannot be written. */
int eqp__layout_check(const char *path, const eqp_snapshot_layout *layout, eqp_message *message);

static inline uint32_t eqp__get_u32(const unsigned char *p, bool big)
{
    return big ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]
               : (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static inline uint64_t eqp__get_u64(const unsigned char *p, bool big)
{
    uint64_t first = eqp__get_u32(p, big), second = eqp__get_u32(p + 4, big);

    return big ? first << 32 | second : second << 32 | first;
}

static inline double eqp__get_f32(const unsigned char *p, bool big)
{
    uint32_t bits = eqp__get_u32(p, big);
    float value;

    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static inline double eqp__get_f64(const unsigned char *p, bool big)
{
    uint64_t bits = eqp__get_u64(p, big);
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Base name of a file. XML files refer to data files in their own folder. */
const char *eqp__base_name(const char *path);
bool eqp__same_folder(const char *a, const char *b);

void eqp__put_escaped(FILE *to, const char *text);

typedef struct eqp__c_locale {
    locale_t own, before;
} eqp__c_locale;

static inline eqp__c_locale eqp__c_locale_enter(void)
{
    const locale_t own = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);

    return (eqp__c_locale){own, own ? uselocale(own) : (locale_t)0};
}

static inline void eqp__c_locale_leave(const eqp__c_locale *l)
{
    if (l->own) {
        uselocale(l->before);
        freelocale(l->own);
    }
}

/* Numbers have a point up to the end of the block. */
#define EQP__IN_C_LOCALE EQP__AT_END(eqp__c_locale_leave) const eqp__c_locale in_c_locale = eqp__c_locale_enter()

typedef struct eqp__tipsy {
    bool big; /* big-endian */
    double time;
    int64_t n[3];  /* gas, dark matter, stars */
    int64_t bytes; /* of the whole file */
    int header_bytes;
    int place_bytes, velocity_bytes; /* of one component: 4, or 8 in double precision */
} eqp__tipsy;

/* head [32]. The file size decides whether positions, or positions and velocities, are doubles, and whether the header
 * has the pad word (32 bytes) or not (28). The pad holds bits 32 to 39 of the four counts if the sum of the counts or
 * the size is wrong without them. Returns false if this is no TIPSY header. */
bool eqp__tipsy_parse(const unsigned char *head, int64_t size, eqp__tipsy *found);

#endif
