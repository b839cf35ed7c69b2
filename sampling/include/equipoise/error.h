/* SPDX-License-Identifier: BSD-3-Clause */
/** \file error.h
 * \brief The return codes of all Equipoise libraries.
 *
 * Every function that can fail returns an `int`: #EQP_OK (0) or one of the negative codes below. Results are
 * returned through trailing out-arguments, which are unchanged on error. */
#ifndef EQUIPOISE_ERROR_H
#define EQUIPOISE_ERROR_H

#include <stddef.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The list: name, value, text. */
#define EQP_ERRORS(X)                                                                                                  \
    X(OK, 0, "no error")                                                                                               \
    X(ERR_ARGUMENT, -1, "an argument is out of its range")                                                             \
    X(ERR_MEMORY, -2, "out of memory")                                                                                 \
    X(ERR_OVERFLOW, -3, "a count does not fit into its type")                                                          \
    X(ERR_IO, -4, "a file cannot be opened, read or written")                                                          \
    X(ERR_FORMAT, -5, "a file is damaged or in no known format")                                                       \
    X(ERR_DATA, -6, "the data hold a value that cannot be used")                                                       \
    X(ERR_UNKNOWN, -7, "no such name")                                                                                 \
    X(ERR_MPI, -8, "an MPI call failed")                                                                               \
    X(ERR_ZOLTAN, -9, "Zoltan failed")                                                                                 \
    X(ERR_STATE, -10, "the call does not fit the object's state")                                                      \
    X(ERR_INTERNAL, -11, "an internal check failed")                                                                   \
    X(ERR_REMOTE, -12, "the call failed on another rank")                                                              \
    X(ERR_STOPPED, -13, "stopped before its end, as was asked for")                                                    \
    X(ERR_CAPACITY, -14, "the parts have not room for everything")

/** Return codes. */
enum eqp_error {
#define EQP_ERROR_ENUM(name, value, text) EQP_##name = (value),
    EQP_ERRORS(EQP_ERROR_ENUM)
#undef EQP_ERROR_ENUM
};

/** The text of a return code; "unknown error" for any other number. Never NULL; static storage. Local, O(1). */
const char *eqp_error_text(int code);

/** Returns #EQP_ERR_ARGUMENT from the calling function unless a condition on its arguments holds.
 *
 * A pointer may be NULL if the comment of the function says so, if its array has no items, and if it is an output
 * message. Every function of the libraries checks for any other NULL: a function that returns `int` returns
 * #EQP_ERR_ARGUMENT, a function of another type returns zero (false, NULL, a struct of zeros), a void function does
 * nothing. */
#define EQP_REQUIRE(condition)                                                                                         \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            return EQP_ERR_ARGUMENT;                                                                                   \
        }                                                                                                              \
    } while (0)

/** Calls a function that returns a code, and returns the code unless it is EQP_OK: where nothing has to be freed. */
#define EQP_CHECK(call)                                                                                                \
    do {                                                                                                               \
        const int eqp__code = (call);                                                                                  \
        if (eqp__code != EQP_OK) {                                                                                     \
            return eqp__code;                                                                                          \
        }                                                                                                              \
    } while (0)

/** Calls a function that returns a code, keeps the code in the local `code`, and jumps to the local label `done` unless
 * it is EQP_OK. All code uses this idiom for calls that may fail and frees everything at `done`. */
#define EQP_TRY(call)                                                                                                  \
    do {                                                                                                               \
        code = (call);                                                                                                 \
        if (code != EQP_OK) {                                                                                          \
            goto done;                                                                                                 \
        }                                                                                                              \
    } while (0)

/** One line of text that describes an error and its place, in addition to the return code. Start with {""}. */
typedef struct eqp_message {
    char text[512]; /**< zero-terminated UTF-8 without control characters, a single line */
} eqp_message;

/** Reads a struct of a caller that may know another version of it: the first member of both is a size_t with the size
 * of the struct. Members that the caller does not know keep the values of `own`. Local, O(size).
 * \param[in,out] own    the reader's struct, with its size and its defaults; unchanged on error
 * \param[in]     given  the caller's struct (borrowed)
 * \param[in]     unset  the size that a caller's size of 0 stands for; 0: such a struct is refused
 * \return EQP_OK, or EQP_ERR_ARGUMENT for a size of 0 or of no struct, and for a larger struct with unknown members that
 *         are not zero */
static inline int eqp_struct_take(void *own, const void *given, size_t unset)
{
    enum { MOST = 65536 }; /* a larger size is uninitialized memory */
    const unsigned char *from = (const unsigned char *)given;
    size_t known = 0, size = 0;

    EQP_REQUIRE(own && given);
    memcpy(&known, own, sizeof known);
    memcpy(&size, given, sizeof size);
    size = size != 0 ? size : unset;
    EQP_REQUIRE(size >= sizeof size && size <= MOST);
    for (size_t k = known; k < size; k++) {
        EQP_REQUIRE(from[k] == 0);
    }
    memcpy((char *)own + sizeof size, from + sizeof size, (size < known ? size : known) - sizeof size);
    return EQP_OK;
}

/** The size of a struct whose last member is `member`: what a size of 0 stands for in structs of version 0.2. */
#define EQP_STRUCT_UP_TO(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

#ifdef __cplusplus
}
#endif
#endif
