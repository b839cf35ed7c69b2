/* SPDX-License-Identifier: BSD-3-Clause */
#include "input.h"

#include "../../physics/motion/mobility.h"
#include "../../physics/network/vector.h"

#include "../../../shell/run_files.h"

#include <math.h>
#include <stdio.h>

/* Nodes read at a time. */
#define BLOCK 4096

/* Target segments per cell: with fewer, runs are too short for the kernels and the far field dominates. */
#define SEGMENTS_PER_CELL 30.0

/* Input segments are often as long as the code that wrote them allows; they may stretch this much before they are
 * cut. */
#define STRETCH 1.25
#define CELLS_MOST 1000

static void place_box(dd_domain *domain, const double low[3], const double high[3], const int boundary[3])
{
    for (int d = 0; d < 3; d++) {
        domain->low[d] = low[d];
        domain->edge[d] = high[d] - low[d];
        domain->box[d] = boundary[d] == 0 ? domain->edge[d] : 0;
    }
}

static int generate(const dd_settings *settings, dd_domain *domain, dd_input *input, eqp_message *message)
{
    const dd_generator *const generator = &settings->generator;
    const int64_t n = dd_generator_count(generator);
    double high[3], edge[3];
    int64_t first, count;

    for (int d = 0; d < 3; d++) {
        if (input->control.boundary[d] != 0) {
            eqp_message_set(message, "%s: %cBoundType: generated networks are periodic", settings->ctrl, "xyz"[d]);
            return EQP_ERR_ARGUMENT;
        }
    }
    dd_generator_box(generator, domain->low, edge);
    dd_v3_along(domain->low, 1.0, edge, high);
    place_box(domain, domain->low, high, input->control.boundary);
    snprintf(input->format, sizeof input->format, "generated %s", generator->kind->name);
    EQP_CHECK(app_run_check_particles(&settings->run, "dislocation: --generate", n, 0, message));
    app_slice(n, domain->rank, domain->nranks, &first, &count);
    const int code = dd_generator_make(generator, first, count, &domain->network);
    if (code != EQP_OK) {
        eqp_message_set(message, "dislocation: --generate: %s", eqp_error_text(code));
        return code;
    }
    for (int64_t i = 0; i < domain->network.n; i++) {
        dd_node *node = &domain->network.node[i];
        dd_domain_fold(domain, node->x);
        node->order = (int64_t)node->tag; /* tags of generated nodes count from 0 */
    }
    return EQP_OK;
}

/* Leaves out normals, since reading normalizes them. */
uint64_t dd_input_checksum(int64_t place, const dd_node *node)
{
    uint64_t word[5] = {node->tag, (uint64_t)node->constraint}, sum;

    memcpy(word + 2, node->x, sizeof node->x);
    sum = app_checksum_row(place, 0, 5, word);
    for (int k = 0; k < node->narms; k++) {
        word[0] = node->arm[k].tag;
        memcpy(word + 1, node->arm[k].burgers, sizeof node->arm[k].burgers);
        sum += app_checksum_row(place, 5 + 4 * k, 4, word);
    }
    return sum;
}

void dd_input_checksum_text(uint64_t sum, char text[EQP_PARADIS_NAME])
{
    snprintf(text, EQP_PARADIS_NAME, "%016llx", (unsigned long long)sum);
}

/* Converts a node of a file without folding its position. */
static int make_node(const eqp_paradis_node *from, const eqp_paradis_arm *arms, int64_t order, dd_node *node)
{
    *node = (dd_node){.tag = from->tag, .constraint = from->constraint, .order = order};
    memcpy(node->x, from->x, sizeof node->x);
    memcpy(node->last_v, from->velocity, sizeof node->last_v);
    for (int k = 0; k < from->narms; k++) {
        dd_arm *arm = NULL;
        EQP_CHECK(dd_node_add_arm(node, arms[k].tag, &arm));
        memcpy(arm->burgers, arms[k].burgers, sizeof arm->burgers);
        memcpy(arm->normal, arms[k].normal, sizeof arm->normal);
    }
    return EQP_OK;
}

static int take_node(dd_domain *domain, const eqp_paradis_block *block, int64_t i, int64_t order, uint64_t *checksum)
{
    DD_FREED_BY(dd_node_free) dd_node node = {0};

    EQP_CHECK(make_node(&block->node[i], block->arm + block->node[i].first_arm, order, &node));
    *checksum += dd_input_checksum(order, &node);
    dd_domain_fold(domain, node.x);
    return dd_network_add(&domain->network, &node);
}

/* Reads the file up to the end of this rank's slice; the last rank checks that the file is complete. */
static int read_slice(eqp_paradis_reader *reader, dd_domain *domain, uint64_t *checksum, eqp_message *message)
{
    const int64_t total = eqp_paradis_get_header(reader)->nnodes;
    eqp_paradis_block block = {.n = 1};
    int64_t first, count;

    app_slice(total, domain->rank, domain->nranks, &first, &count);
    for (int64_t at = 0; block.n > 0 && (at < first + count || domain->rank == domain->nranks - 1); at += block.n) {
        EQP_CHECK(eqp_paradis_next(reader, BLOCK, &block, message));
        for (int64_t i = 0; i < block.n; i++) {
            const dd_tag tag = block.node[i].tag;
            const bool mine = at + i >= first && at + i < first + count;
            const int code = mine ? take_node(domain, &block, i, at + i, checksum) : EQP_OK;
            if (code == EQP_ERR_DATA) {
                eqp_message_set(message, "%s: node %u,%u: stands twice", eqp_paradis_path(reader), DD_TAG_DOMAIN(tag),
                                DD_TAG_INDEX(tag));
            } else if (code != EQP_OK) {
                eqp_message_set(message, "%s: %s", eqp_paradis_path(reader), eqp_error_text(code));
            }
            EQP_CHECK(code);
        }
    }
    return EQP_OK;
}

static void close_reader(eqp_paradis_reader **reader)
{
    eqp_paradis_close(*reader);
}

static int read_file(const char *path, const dd_settings *settings, dd_domain *domain, dd_input *input,
                     uint64_t *checksum, eqp_message *message)
{
    DD_FREED_BY(close_reader) eqp_paradis_reader *reader = NULL;

    EQP_CHECK(eqp_paradis_open(path, &reader, message));
    const eqp_paradis_header *header = eqp_paradis_get_header(reader);
    place_box(domain, header->min, header->max, input->control.boundary);
    snprintf(input->format, sizeof input->format, "ParaDiS version %d", header->version);
    if (header->nnodes < 1) {
        eqp_message_set(message, "%s: no nodes", path);
        return EQP_ERR_FORMAT;
    }
    EQP_CHECK(app_run_check_particles(&settings->run, path, header->nnodes, header->bytes, message));
    return read_slice(reader, domain, checksum, message);
}

/* Parameters known before the network: the file's, overridden by the command line. */
static int read_control(const dd_settings *settings, const char *path, dd_input *input, eqp_message *message)
{
    eqp_paradis_control *const control = &input->control;
    const bool restart = settings->run.restart != NULL;
    eqp_message ignored = {""};
    int64_t nignored = 0;

    dd_settings_default_control(control);
    if (path != NULL) {
        *control = eqp_paradis_control_defaults;
        memset(control->cells, 0, sizeof control->cells);
        EQP_CHECK(eqp_paradis_control_read(path, control, &nignored, &ignored, message));
    }
    if (nignored > 0 && !restart) {
        eqp_message_set(dd_notes_next(&input->notes), "%s: passed over: %s", path, ignored.text);
    }
    for (int d = 0; d < 3; d++) {
        control->cells[d] *= settings->tile[d];
    }
    if (!restart) {
        control->first_step = 0;
        control->time = 0;
        memset(control->plastic_strain, 0, sizeof control->plastic_strain);
    }
    dd_settings_override(settings, control);
    return dd_foreign_check(path != NULL ? path : "dislocation", control, &input->notes, message);
}

static int find_last_step(const dd_settings *settings, const char *path, dd_input *input, eqp_message *message)
{
    const eqp_paradis_control *const control = &input->control;

    if (dd_settings_given(settings, "steps")) {
        input->last_step = settings->run.steps;
    } else if (control->steps > INT64_MAX - control->first_step) {
        eqp_message_set(message, "%s: maxstep: too many steps", path);
        return EQP_ERR_DATA;
    } else {
        input->last_step = control->first_step + control->steps;
    }
    if (input->last_step < control->first_step) {
        eqp_message_set(message, "%s: is at step %lld already: --steps counts from the very beginning", path,
                        (long long)control->first_step);
        return EQP_ERR_ARGUMENT;
    }
    return EQP_OK;
}

/* Chooses cells as small as the longest segment allows, but with enough segments. */
static void choose_cells(const dd_domain *domain, int64_t segments, double longest, eqp_paradis_control *control)
{
    const double wanted = (double)segments / SEGMENTS_PER_CELL;
    double volume = 1;

    for (int d = 0; d < 3; d++) {
        volume *= domain->edge[d];
    }
    for (int d = 0; d < 3; d++) {
        const double fits = domain->edge[d] * DD_CELL_FITS / fmax(control->max_seg, longest);
        const double good = domain->edge[d] * cbrt(wanted / volume);
        if (control->cells[d] == 0) {
            control->cells[d] = (int)fmax(3, fmin(CELLS_MOST, floor(fmin(fits, good))));
        }
    }
}

/* Refuses unknown names and numbers of laws instead of replacing them. */
static int check_choices(const char *from, const eqp_paradis_control *control, dd_notes *notes, eqp_message *message)
{
    const int load = control->load_type;
    dd_mobility_law law;

    if (load == 6) {
        eqp_message_set(dd_notes_next(notes), "%s: loadType: 6 is a user-defined curve: the stress stays", from);
    }
    if (dd_mobility_find(control->mobility, &law) != EQP_OK) {
        eqp_message_set(message, "%s: mobilityLaw: '%s' is none of %s", from, control->mobility, &DD_MOBILITY_NAMES[1]);
    } else if (strcmp(control->integrator, "trapezoid") != 0 && strstr(control->integrator, "euler") == NULL) {
        eqp_message_set(message, "%s: timestepIntegrator: '%s' is neither trapezoid nor an euler", from,
                        control->integrator);
    } else if (load == 4 && !(control->strain_amplitude > 0)) {
        eqp_message_set(message, "%s: loadType 4, cycles of strain, needs their amplitude, eAmp", from);
    } else if (load != 0 && load != 1 && load != 4 && load != 6) {
        eqp_message_set(message,
                        "%s: loadType: %d is neither 0, creep, nor 1, constant strain rate, nor 4, cycles of strain",
                        from, load);
    } else {
        return EQP_OK;
    }
    return EQP_ERR_ARGUMENT;
}

/* Default maxSeg: STRETCH times the longest input segment, as far as cells allow. */
static double default_max_seg(const dd_domain *domain, const eqp_paradis_control *control, double longest)
{
    double most = STRETCH * longest;

    for (int d = 0; d < 3; d++) {
        const int cells = control->cells[d] > 0 ? control->cells[d] : 3;
        most = fmin(most, domain->edge[d] / cells * DD_CELL_FITS);
    }
    return fmax(most, longest);
}

static int complete_control(const char *path, const dd_generator *generator, const dd_domain *domain, dd_input *input,
                            eqp_message *message)
{
    const char *const from = path != NULL ? path : "dislocation";
    eqp_message inner = {""};
    int code;

    if (isnan(input->control.max_seg) && path == NULL) {
        input->control.max_seg = default_max_seg(domain, &input->control,
                                                 generator != NULL ? dd_generator_maxseg(generator) : input->longest);
    }
    input->dt_given = input->control.next_dt > 0;
    if (input->control.max_seg > 0) {
        choose_cells(domain, input->segments, input->longest, &input->control);
    }
    code = eqp_paradis_control_complete(&input->control, NULL, &inner); /* the set-up finds cells for maxSeg */
    if (code != EQP_OK) {
        eqp_message_set(message, "%s: %s", from, inner.text);
    }
    return code == EQP_OK ? check_choices(from, &input->control, &input->notes, message) : code;
}

static int find_all(dd_domain *domain, dd_input *input, eqp_message *message)
{
    for (int64_t i = 0; i < domain->network.n; i++) {
        domain->network.node[i].split = -1;
    }
    input->nodes = domain->network.n;
    EQP_CHECK(eqp_sum_int64(domain->comm, 1, &input->nodes));
    EQP_CHECK(dd_domain_connect(domain, message));
    return dd_verify_arms(domain, &input->longest, &input->segments, message);
}

/* Connects the nodes; a message about one of them begins with the name of the input. */
static int connect(const char *name, dd_domain *domain, dd_input *input, eqp_message *message)
{
    eqp_message what = {""};
    const int code = find_all(domain, input, &what);

    if (code != EQP_OK && what.text[0] != '\0') {
        eqp_message_set(message, "%s: %s", name, what.text);
    }
    return code;
}

/* Checks that a restart's parameters belong to its network. Older versions and ParaDiS write no checksum.
 * Collective. */
static int check_pair(const dd_domain *domain, const char *data, const char *ctrl, const char *named, uint64_t part,
                      eqp_message *message)
{
    char found[EQP_PARADIS_NAME];

    dd_input_checksum_text(app_checksum_sum(domain->comm, part), found);
    if (named[0] == '\0' || strcmp(named, found) == 0) {
        return EQP_OK;
    }
    eqp_message_set(message, "%s: belongs to another network than that of %s, which has its own in lines '#= '", ctrl,
                    data);
    return EQP_ERR_FORMAT;
}

/* Reads parameters and this rank's slice of the nodes; homes follow. Local. */
static int read_slices(const dd_settings *settings, const char *data, const char *ctrl, dd_domain *domain,
                       dd_input *input, uint64_t *checksum, eqp_message *message)
{
    EQP_CHECK(read_control(settings, ctrl, input, message));
    EQP_CHECK(find_last_step(settings, ctrl, input, message));
    return data != NULL ? read_file(data, settings, domain, input, checksum, message)
                        : generate(settings, domain, input, message);
}

int dd_input_read(const dd_settings *settings, dd_domain *domain, dd_input *input, eqp_message *message)
{
    const char *data = settings->run.snapshot, *ctrl = settings->ctrl;
    DD_FREED char *own_data = NULL;
    DD_FREED char *own_ctrl = NULL;
    uint64_t checksum = 0;
    int code = EQP_OK;

    *input = (dd_input){0};
    if (settings->run.restart != NULL) {
        code = dd_files_pair(settings->run.restart, &own_data, &own_ctrl);
        data = own_data;
        ctrl = own_ctrl;
    }
    code = code == EQP_OK ? read_slices(settings, data, ctrl, domain, input, &checksum, message) : code;
    EQP_CHECK(eqp_agree(domain->comm, code, message));
    if (settings->run.restart != NULL) {
        EQP_CHECK(check_pair(domain, data, ctrl, input->control.checksum, checksum, message));
    }
    EQP_CHECK(connect(data != NULL ? data : input->format, domain, input, message));
    if (settings->tile_text != NULL) {
        EQP_CHECK(dd_tile_domain(domain, settings->tile, message));
        EQP_CHECK(connect("dislocation: --tile", domain, input, message));
    }
    code = complete_control(ctrl, data == NULL ? &settings->generator : NULL, domain, input, message);
    return eqp_agree(domain->comm, code, message);
}
