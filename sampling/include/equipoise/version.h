/* SPDX-License-Identifier: BSD-3-Clause */
/** \file version.h
 * \brief The one version of all Equipoise libraries and programs: meson.build reads it here. */
#ifndef EQUIPOISE_VERSION_H
#define EQUIPOISE_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

#define EQP_VERSION_MAJOR 0 /**< another interface, from 1.0 on */
#define EQP_VERSION_MINOR 2 /**< more interface; before 1.0 another one */
#define EQP_VERSION_PATCH 0 /**< the same interface */

/** One number, for comparisons by the preprocessor: 10203 is 1.2.3. */
#define EQP_VERSION_NUMBER (EQP_VERSION_MAJOR * 10000 + EQP_VERSION_MINOR * 100 + EQP_VERSION_PATCH)

/** True if the headers are of that version or a later one: `#if EQP_VERSION_AT_LEAST(1, 2, 3)`. */
#define EQP_VERSION_AT_LEAST(major, minor, patch) (EQP_VERSION_NUMBER >= (major)*10000 + (minor)*100 + (patch))

#define EQP__STRING(x) #x
#define EQP__VERSION(major, minor, patch) EQP__STRING(major) "." EQP__STRING(minor) "." EQP__STRING(patch)
/** The text, "1.2.3". */
#define EQP_VERSION EQP__VERSION(EQP_VERSION_MAJOR, EQP_VERSION_MINOR, EQP_VERSION_PATCH)

/** The version of the libraries that the program has loaded; EQP_VERSION is that of its headers. Static storage. Local,
 * O(1). */
const char *eqp_version(void);

#ifdef __cplusplus
}
#endif
#endif
