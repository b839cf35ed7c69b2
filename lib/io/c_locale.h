/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses and prints numbers with a decimal point, whatever the program's locale. */
#ifndef EQP_IO_C_LOCALE_H
#define EQP_IO_C_LOCALE_H

#include <locale.h>

typedef struct eqp__c_locale {
    locale_t own, before;
} eqp__c_locale;

static inline void eqp__c_locale_enter(eqp__c_locale *l)
{
    l->own = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    l->before = l->own ? uselocale(l->own) : (locale_t)0;
}

static inline void eqp__c_locale_leave(eqp__c_locale *l)
{
    if (l->own) {
        uselocale(l->before);
        freelocale(l->own);
    }
}

#endif
