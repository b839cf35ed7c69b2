/* SPDX-License-Identifier: BSD-3-Clause */
/** \file equipoise.h
 * \brief All of tier 1: the stable interface. A program that needs only this runs with later versions of the libraries.
 *
 * Tier 2 is below equipoise/more/ and may change with each minor version. */
#ifndef EQUIPOISE_EQUIPOISE_H
#define EQUIPOISE_EQUIPOISE_H

#include <equipoise/balance.h>
#include <equipoise/balancer.h>
#include <equipoise/error.h>
#include <equipoise/points.h>
#include <equipoise/policy.h>
#include <equipoise/problem.h>
#include <equipoise/snapshot.h>
#include <equipoise/survey.h>
#include <equipoise/units.h>
#include <equipoise/version.h>

#endif
