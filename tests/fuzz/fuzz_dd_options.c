/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of dislocation, one argument per line. Small networks are generated. */
#include "command_line.h"

#include "drive/settings.h"

#include "../unit/dd_check.h"

#include <equipoise/more/io.h>

#include <math.h>

enum { MOST_NODES = 400 };

static void generate(const dd_generator *generator)
{
    const int64_t objects = dd_generator_count(generator), nodes = dd_generator_nodes(generator);
    const double maxseg = dd_generator_maxseg(generator);
    double low[3], box[3];
    eqp_message message = {""};
    dd_network network;

    dd_generator_box(generator, low, box);
    fuzz_require(objects >= 1 && nodes >= 1 && nodes <= INT64_MAX / objects);
    fuzz_require(maxseg > 0 && maxseg <= box[0] && isfinite(low[0]));
    if (nodes > MOST_NODES) {
        return;
    }
    dd_network_init(&network);
    fuzz_require(dd_generator_make(generator, objects - 1, 1, &network) == EQP_OK);
    fuzz_require(network.n == nodes);
    fuzz_require(dd_network_check(&network, box, &message) == EQP_OK);
    dd_network_free(&network);
}

/* The parameters as the run sees them. */
static void override(const dd_settings *s)
{
    eqp_paradis_control control;
    eqp_message message = {""};

    dd_settings_default_control(&control);
    dd_settings_override(s, &control);
    control.max_seg = isnan(control.max_seg) ? 1000 : control.max_seg;
    if (eqp_paradis_control_complete(&control, NULL, &message) != EQP_OK) {
        fuzz_require_line(&message);
        return;
    }
    fuzz_require(control.min_seg > 0 && control.tolerance > 0 && control.annihilation > 0 && control.next_dt > 0);
    for (int i = 0; i < 6; i++) {
        fuzz_require(isfinite(control.stress[i]));
    }
}

static void complete(void *values)
{
    dd_settings *s = values;
    eqp_message message = {""};

    fuzz_require_parsed(&s->run);
    if (dd_settings_complete(s, &message) != EQP_OK) {
        fuzz_require_line(&message);
        return;
    }
    fuzz_require_complete(&s->run);
    fuzz_require((s->cells[0] > 0) == (s->cells_text != NULL));
    for (int d = 0; d < 3; d++) {
        fuzz_require(s->tile[d] >= 1 && s->cells[d] >= 0 && (s->cells[d] == 0 || s->cells[d] >= 3));
    }
    if (s->run.generate != NULL) {
        generate(&s->generator);
    }
    override(s);
    app_run_settings_free(&s->run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text, *line[FUZZ_LINES];
    const int n = fuzz_lines(data, size, &text, line);

    fuzz_command_line(dd_settings_table(), n, line, complete);
    free(text);
    return 0;
}
