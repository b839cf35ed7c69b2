/* SPDX-License-Identifier: BSD-3-Clause */
#include "input.h"

#include "../../physics/motion/mobility.h"

#include <math.h>
#include <stdio.h>
#include <strings.h>

/* Mobilities of 0 are set to this share of the largest one; ParaDiS divides by them and continues with infinite
 * drag. */
#define STANDS_STILL 1e-6

/* Keys that change results unless they have the value that switches them off. */
static const struct {
    const char *key, *off, *what;
    bool refused;
} features[] = {
    {"fmEnableAnisotropy", "0", "anisotropic elasticity is not computed", true},
    {"eshelbyfmEnabled", "0", "inclusions (Eshelby) are not computed", true},
    {"inclusionFile", "", "inclusions (Eshelby) are not computed", true},
    {"includeInertia", "0", "lines have no inertia", false},
    {"useLabFrame", "0", "the axes of the crystal are x, y and z", false},
    {"elasticinteraction", "1", "segments interact all the same", false},
    {"vacancyConcEquilibrium", "0", "there are no osmotic forces", false},
    {"FFTenabled", "0", "no stress comes from a grid", false},
};

eqp_message *dd_notes_next(dd_notes *notes)
{
    if (notes->n < DD_NOTES) {
        notes->n++;
    }
    return &notes->line[notes->n - 1];
}

/* Numbers are compared by value; a negative one leaves the choice to ParaDiS. */
static bool is_off(const char *value, const char *off)
{
    char *end;
    const double number = strtod(value, &end);

    return *off == '\0' || end == value ? strcmp(value, off) == 0 : number == strtod(off, NULL) || number < 0;
}

static int check_features(const char *from, const eqp_paradis_control *control, dd_notes *notes, eqp_message *message)
{
    for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) {
        char value[EQP_PARADIS_NAME];
        if (!eqp_paradis_control_find(control, features[i].key, value) || is_off(value, features[i].off)) {
            continue;
        }
        eqp_message_set(features[i].refused ? message : dd_notes_next(notes), "%s: %s = %s: %s", from, features[i].key,
                        value, features[i].what);
        if (features[i].refused) {
            return EQP_ERR_ARGUMENT;
        }
    }
    if (strstr(control->mobility, "shelby") != NULL) {
        eqp_message_set(message, "%s: mobilityLaw: '%s': inclusions (Eshelby) are not computed", from,
                        control->mobility);
        return EQP_ERR_ARGUMENT;
    }
    return EQP_OK;
}

static void mend_mobilities(const char *from, eqp_paradis_control *c, dd_notes *notes)
{
    dd_mobility_law law = DD_BCC_0;
    const unsigned reads = dd_mobility_find(c->mobility, &law) == EQP_OK ? dd_mobility_reads(law) : ~0u;
    const struct {
        const char *key;
        double *value;
        bool is_read;
    } mobility[] = {
        {"MobScrew", &c->mobility_screw, (reads & DD_READS_MOBILITIES) != 0},
        {"MobEdge", &c->mobility_edge, (reads & DD_READS_MOBILITIES) != 0},
        /* FCC laws without climb are laws of glide. */
        {"MobClimb", &c->mobility_climb, (reads & DD_READS_CLIMB) != 0 && strncasecmp(c->mobility, "BCC", 3) == 0}};
    const double most = fmax(c->mobility_climb, fmax(c->mobility_screw, c->mobility_edge));

    for (int i = 0; i < 3 && most > 0; i++) {
        if (mobility[i].is_read && *mobility[i].value == 0) {
            *mobility[i].value = STANDS_STILL * most;
            eqp_message_set(dd_notes_next(notes), "%s: %s: 0 is taken as %g", from, mobility[i].key,
                            *mobility[i].value);
        }
    }
}

static void note_boundary(const char *from, const eqp_paradis_control *control, dd_notes *notes)
{
    for (int d = 0; d < 3; d++) {
        if (control->boundary[d] != 0) {
            eqp_message_set(dd_notes_next(notes), "%s: %cBoundType = 1: free surfaces have no image forces", from,
                            "xyz"[d]);
        }
    }
}

int dd_foreign_check(const char *from, eqp_paradis_control *control, dd_notes *notes, eqp_message *message)
{
    const int code = check_features(from, control, notes, message);

    if (code == EQP_OK) {
        mend_mobilities(from, control, notes);
        note_boundary(from, control, notes);
    }
    return code;
}

static bool has_multipoles(const eqp_paradis_control *control)
{
    const int n = control->cells[0];

    return n >= 4 && (n & (n - 1)) == 0 && control->cells[1] == n && control->cells[2] == n;
}

/* Name of the table of images for these elastic constants, and the command that makes it. */
static void name_table(const eqp_paradis_control *control, char name[EQP_PARADIS_NAME], char making[256])
{
    const int periodic =
        (control->boundary[0] == 0) | (control->boundary[1] == 0) << 1 | (control->boundary[2] == 0) << 2;

    snprintf(name, EQP_PARADIS_NAME, "fm-ctab.nu%.6g.m2.t5.dat", control->poisson);
    snprintf(making, 256, "#  ctablegen -nu %.17g -mu %.17g -mporder 2 -torder 5 -pbc %d -outfile %s\n",
             control->poisson, control->shear_modulus, periodic, name);
}

int dd_foreign_complete(const eqp_paradis_control *control, const char *lines, char **others)
{
    static const char tables[] = "fmEnabled = 0\nfmMPOrder = 2\nfmTaylorOrder = 5\n"
                                 "Rijmfile = \"inputs/Rijm.cube.out\"\nRijmPBCfile = \"inputs/RijmPBC.cube.out\"\n";
    const char *const before = control->others != NULL ? control->others : "";
    const char *const behind = lines != NULL ? lines : "";
    char value[EQP_PARADIS_NAME] = "", name[EQP_PARADIS_NAME], keys[256] = "", making[256], *text = NULL;
    int64_t room;

    name_table(control, name, making);
    if (eqp_paradis_control_find(control, "fmEnabled", value)) {
        /* comments are not read; this one is written above its table again */
        value[0] = '\0';
        (void)eqp_paradis_control_find(control, "fmCorrectionTbl", value);
    } else if (has_multipoles(control)) {
        snprintf(keys, sizeof keys, "fmEnabled = 1\nfmMPOrder = 2\nfmTaylorOrder = 5\nfmCorrectionTbl = \"%s\"\n",
                 name);
        memcpy(value, name, sizeof value);
    } else {
        memcpy(keys, tables, sizeof tables);
    }
    if (strcmp(value, name) != 0) {
        making[0] = '\0';
    }
    room = (int64_t)(strlen(making) + strlen(before) + strlen(keys) + strlen(behind)) + 1;
    EQP_CHECK(eqp_array_create(&text, room, 1));
    snprintf(text, (size_t)room, "%s%s%s%s", making, before, keys, behind);
    *others = text;
    return EQP_OK;
}
