/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/io.h
 * \brief Networks of dislocations in ParaDiS files, and lines for ParaView. Snapshots are in snapshot.h.
 *
 * *ParaDiS.* Dislocation networks as ParaDiS stores them: nodes in `.data` files, parameters in `.ctrl` files.
 *
 * All functions are local. One rank (or every rank for itself) reads a network in blocks of nodes, so that no rank has
 * to hold all of it; one rank writes the nodes that the other ranks send it.
 *
 * *Lengths* are in units of b. *Tags* are opaque keys: domain x 2^32 + index, both below 2^31.
 *
 * *Arms.* A segment joins two nodes and is listed in both. The Burgers vector of an arm holds for the direction from
 * the node to the neighbour, so the reverse arm has its negative.
 *
 * *Text.* `key = value`, `key = [ values ]` on one line or several; `#` starts a comment; values may end in `;` or `,`.
 * Files compressed by gzip are detected by their first bytes, never by their names. A comment `#velocity x y z` before
 * a node holds the time stepper's state, for which ParaDiS files have no field; other readers ignore it.
 *
 * *Errors.* A file that cannot be opened, a missing file of several, a full disk: #EQP_ERR_IO. A truncated, damaged or
 * unknown file, inconsistent counts, an impossible network: #EQP_ERR_FORMAT. NaN, infinity and numbers that do not
 * fit: #EQP_ERR_DATA. Messages are one line: "FILE: line N: what", with the node's tag if it is known.
 *
 * *ParaView.* Lines for ParaView: VTK PolyData files (`.vtp`) and collections of them in time (`.pvd`).
 *
 * One rank writes; it gets the ranks' data as pieces, one after the other, so that no rank holds all data. Numbers are
 * binary (base64), host byte order. All functions are local.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_IO_H
#define EQUIPOISE_MORE_IO_H

#include <equipoise/error.h>

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Largest number of arms of a node. */
#define EQP_PARADIS_MOST_ARMS 24

/** Domain of a tag. */
#define EQP_PARADIS_DOMAIN(tag) ((uint32_t)((uint64_t)(tag) >> 32))
/** Index of a tag. */
#define EQP_PARADIS_INDEX(tag) ((uint32_t)(tag))
/** The tag `domain,index`. */
#define EQP_PARADIS_TAG(domain, index) ((uint64_t)(uint32_t)(domain) << 32 | (uint32_t)(index))

/** Bits of a node's constraint, as in files of version 5. In version 4 the value 1 means a surface and is read as
 * EQP_PARADIS_SURFACE; all other bits mean the same. */
enum eqp_paradis_constraint {
    EQP_PARADIS_FREE = 0,     /**< moves freely */
    EQP_PARADIS_PINNED_X = 1, /**< keeps its x */
    EQP_PARADIS_PINNED_Y = 2, /**< keeps its y */
    EQP_PARADIS_PINNED_Z = 4, /**< keeps its z */
    EQP_PARADIS_PINNED = 7,   /**< does not move */
    EQP_PARADIS_SURFACE = 8   /**< lies on a surface, where lines may end */
};

/** Half of a segment, as one of its nodes sees it. */
typedef struct eqp_paradis_arm {
    uint64_t tag;      /**< the neighbour */
    double burgers[3]; /**< from the node to the neighbour, in units of b, not 0 */
    double normal[3];  /**< normal of the glide plane: unit length, or 0 0 0 if unknown */
} eqp_paradis_arm;

/** A node. For its arms see eqp_paradis_block. */
typedef struct eqp_paradis_node {
    uint64_t tag;       /**< its name */
    double x[3];        /**< as stored, perhaps outside the box */
    int constraint;     /**< bits of eqp_paradis_constraint, 0 .. 15 */
    int narms;          /**< 0 .. EQP_PARADIS_MOST_ARMS */
    int64_t first_arm;  /**< its arms are block->arm[first_arm .. first_arm + narms) */
    double velocity[3]; /**< at the beginning of its last step, in the writer's unit; 0 0 0 if not in the file */
} eqp_paradis_node;

/** The statements before the nodes. */
typedef struct eqp_paradis_header {
    int version;       /**< 4 or 5 */
    int nfiles;        /**< files that hold the nodes (numFileSegments) */
    double min[3];     /**< lower corner of the box */
    double max[3];     /**< upper corner of the box, above the lower in every direction */
    int64_t nnodes;    /**< in all files */
    int64_t bytes;     /**< total size of all files, which may expand a thousandfold if compressed; 0: none read */
    int decomposition; /**< 1 (slabs, columns, boxes) or 2 (a list of boxes); 0: not in the file */
    int geometry[3];   /**< domains in x, y, z; 0 0 0: not in the file */
} eqp_paradis_header;

/** Some nodes with their arms, in file order. */
typedef struct eqp_paradis_block {
    int64_t n;                    /**< nodes; 0 at the end of the network */
    int64_t narms;                /**< arms of all of them */
    const eqp_paradis_node *node; /**< [n] borrowed: until the next call with that reader */
    const eqp_paradis_arm *arm;   /**< [narms] borrowed: until the next call with that reader */
} eqp_paradis_block;

/** An open network. */
typedef struct eqp_paradis_reader eqp_paradis_reader;

/** Opens a network and reads its header. Local, O(header).
 * \param[in]  path     a `.data` file, or the common part of the names of its files: for `net.data` the file
 *                      itself and then `net.data.0`, `net.data.0.gz` and `net.data.gz` are tried (copied)
 * \param[out] reader   free with eqp_paradis_close(); unchanged on error
 * \param[out] message  the error and its place; may be NULL; unchanged on success
 * \return EQP_OK, EQP_ERR_ARGUMENT for a NULL path, EQP_ERR_IO, EQP_ERR_FORMAT, EQP_ERR_DATA, EQP_ERR_MEMORY */
int eqp_paradis_open(const char *path, eqp_paradis_reader **reader, eqp_message *message);

/** The header (borrowed: lives as long as the reader). Never NULL for a reader. */
const eqp_paradis_header *eqp_paradis_get_header(const eqp_paradis_reader *reader);

/** Reads the next nodes. Normals come out with unit length, or 0. Every node is checked;
 * properties of both ends of a segment (reciprocity, lengths) or of all nodes (duplicate tags) are not checked.
 * Local, O(nodes read) time; memory O(largest block), never more than the file has.
 * \param[in,out] reader   after an error it can only be closed
 * \param[in]     most     nodes at most, >= 1
 * \param[out]    block    `most` nodes, or fewer at the end; n is 0 after the last node, and only then the file is
 *                         known to be complete; unchanged on error
 * \param[out]    message  may be NULL; unchanged on success
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_IO, EQP_ERR_FORMAT, EQP_ERR_DATA, EQP_ERR_MEMORY */
int eqp_paradis_next(eqp_paradis_reader *reader, int64_t most, eqp_paradis_block *block, eqp_message *message);

/** Name of the file that is being read (borrowed: lives as long as the reader, changes when the next file begins). */
const char *eqp_paradis_path(const eqp_paradis_reader *reader);

/** Frees a reader; NULL is legal. */
void eqp_paradis_close(eqp_paradis_reader *reader);

/** A network that is being written. */
typedef struct eqp_paradis_writer eqp_paradis_writer;

/** Begins a `.data` file of version 5 under a temporary name (see more/base.h). A file that has the target's name is
 * not touched. Local; one rank.
 * \param[in]  path      target (copied)
 * \param[in]  header    min, max, nnodes; geometry if its product is ndomains; the rest is not used (borrowed)
 * \param[in]  ndomains  boxes of the domain decomposition (type 2); 0: one, the whole box
 * \param[in]  domain    [ndomains][6] xmin ymin zmin xmax ymax zmax of each; NULL if there are 0 (borrowed)
 * \param[out] writer    eqp_paradis_write_finish() or eqp_paradis_write_discard() it; unchanged on error
 * \param[out] message   may be NULL; unchanged on success
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_IO (then no temporary file is left), EQP_ERR_MEMORY */
int eqp_paradis_write_begin(const char *path, const eqp_paradis_header *header, int64_t ndomains,
                            const double (*domain)[6], eqp_paradis_writer **writer, eqp_message *message);

/** Writes more nodes, with all digits: a node that is read back is the same to the last bit.
 * \param[in,out] writer  after an error it can only be discarded
 * \param[in]     n       nodes, >= 0
 * \param[in]     node    [n] (borrowed)
 * \param[in]     arm     where node[].first_arm points into (borrowed)
 * \param[out]    message may be NULL; unchanged on success
 * \return EQP_OK, EQP_ERR_ARGUMENT for more nodes than announced or what the reader would refuse as a number or tag,
 * EQP_ERR_IO */
int eqp_paradis_write_nodes(eqp_paradis_writer *writer, int64_t n, const eqp_paradis_node *node,
                            const eqp_paradis_arm *arm, eqp_message *message);

/** Gives the file the target's name, after its data have reached the disk, and then that of the parameters. Frees the
 * writer in any case; on error no temporary file is left, and an older file of that name is whole.
 * \param[in]  writer   (owned: taken)
 * \param[out] message  may be NULL; unchanged on success
 * \return EQP_OK, EQP_ERR_ARGUMENT for fewer nodes than announced, EQP_ERR_IO */
int eqp_paradis_write_finish(eqp_paradis_writer *writer, eqp_message *message);

/** Removes the temporary file and frees the writer; NULL is legal. */
void eqp_paradis_write_discard(eqp_paradis_writer *writer);

/** Bytes of a name in a `.ctrl` file, its end included. */
#define EQP_PARADIS_NAME 64

/** Parameters of a run. A real number that is NaN was not given and follows from other parameters, see
 * eqp_paradis_control_complete(); in a file, 0 and below say so, too (of Ecore, below 0). In brackets: the key in a
 * file, and the default. */
typedef struct eqp_paradis_control {
    int domains[3];                    /**< [numXdoms, ...: 1] processes in x, y, z; >= 1 */
    int cells[3];                      /**< [numXcells, ...: 3] cells in x, y, z; >= 3 */
    int boundary[3];                   /**< [xBoundType, ...: 0] 0 periodic, 1 free */
    int decomposition;                 /**< [decompType: 2] 1 sectioning, 2 bisection */
    int balance_every;                 /**< [DLBfreq: 3] steps; 0: never */
    int64_t steps;                     /**< [maxstep: 100] >= 0 */
    char integrator[EQP_PARADIS_NAME]; /**< [timestepIntegrator: trapezoid] */
    double next_dt;                    /**< [nextDT: maxDT] s, > 0, cut to maxDT: first step */
    double max_dt;                     /**< [maxDT: 1e-7] s, > 0 */
    double dt_increment;               /**< [dtIncrementFact: 1.2] >= 1 */
    double dt_decrement;               /**< [dtDecrementFact: 0.5] > 0, < 1 */
    double tolerance;                  /**< [rTol: 0.25 rc] b, > 0 */
    double max_seg;                    /**< [maxSeg] b, > 0; required */
    double min_seg;       /**< [minSeg: sqrt(8 rTol maxSeg / sqrt(3))] b, > 0, <= maxSeg / 2, also the default */
    int remesh_rule;      /**< [remeshRule: 2] */
    double area_min;      /**< no key: min(2 rTol maxSeg, sqrt(3)/4 minSeg^2), b^2 */
    double area_max;      /**< no key: (4 area_min + sqrt(3)/4 maxSeg^2) / 2, b^2 */
    double annihilation;  /**< [rann: 2 rTol] b, > 0 */
    int split_every;      /**< [splitMultiNodeFreq: 1] steps; 0 means 1 */
    int collision_method; /**< [collisionMethod: 2] */
    int cross_slip;       /**< [enableCrossSlip: -1] 0: no, -1: where the mobility law is one of FCC */
    double shear_modulus; /**< [shearModulus: 6.488424e10] Pa, > 0 */
    double poisson;       /**< [pois: 0.3327533] > -1, < 0.5 */
    double burgers;       /**< [burgMag: 2.875401e-10] m, > 0 */
    double core_radius;   /**< [rc] b, > 0; required */
    double core_energy;   /**< [Ecore: mu / 4 pi ln(rc / 0.1)] Pa */
    char mobility[EQP_PARADIS_NAME]; /**< [mobilityLaw: BCC_0] */
    double mobility_screw;           /**< [MobScrew: 10] 1 / (Pa s), >= 0 */
    double mobility_edge;            /**< [MobEdge: 10] 1 / (Pa s), >= 0 */
    double mobility_climb;           /**< [MobClimb: 0.01] 1 / (Pa s), >= 0 */
    double climb_junction;           /**< [MobClimbJunc: 1] 1 / (Pa s) of nodes of more than two arms; <= 0: MobClimb */
    double shear_velocity;           /**< [shearVelocity: 3400] m / s, bound of velocities; 0: none */
    double relax[3];                 /**< [MobRelaxX, ...: 1] 1 / (Pa s), >= 0 (Relax) */
    int relax_by_length;             /**< [MobRelaxScaleByLength: 1] 0: by the force, else by the force per length */
    double c_over_a;                 /**< [cOVERa: 1.568] of HCP, > 0 */
    double hcp_edge[7];              /**< [HCP_A_Basal_EdgeDrag, ...: of beryllium] Pa s, >= 0: A_Basal, A_Prismatic,
                                        A_1stPyramidal, C_Prismatic, CpA_Prismatic, CpA_1stPyramidal, CpA_2ndPyramidal */
    double hcp_screw[7];             /**< [HCP_A_Basal_ScrewDrag, ...: of beryllium] of screws */
    double hcp_climb;                /**< [HCP_Sessile_ScrewDrag: 23.6868] Pa s, >= 0: climb, and junctions */
    double hcp_line;                 /**< [HCP_LineDrag: 5e-6] Pa s, >= 0: along a line */
    double temperature;              /**< [TempK: 600] K, >= 0 (BCC_Ta_nl, BCC_Va_nl and their variants) */
    double pressure;                 /**< [pressure: 0] Pa (BCC_Va_nl) */
    double modulus_0;                /**< [MobG0: 49e9] Pa, >= 0: the shear modulus without pressure (BCC_Va_nl) */
    double ta_edge[2];               /**< [TaDragEdge110, ...112: 2.8532e-4] Pa s, >= 0 (BCC_Ta_linear) */
    double ta_screw[3];              /**< [TaDragScrew110, ...112T, ...112AT: 0.034239, 0.017119, 0.11641] Pa s, >= 0 */
    double ta_line;                  /**< [TaDragLine: 2.8532e-6] Pa s, >= 0 (this and all below: BCC_Ta) */
    double ta_climb_edge;            /**< [TaDragClimbEdge: 342.39] Pa s, >= 0 */
    double ta_climb_screw;           /**< [TaDragClimbScrew: 34.239] Pa s, >= 0; of junctions, too */
    double ta_k[3];                  /**< [TaDragParam110K, ...112TK, ...112ATK: 9000, 2200, 10600] MPa, >= 0 */
    double ta_b[3];                  /**< [TaDragParam110B, ...: 0.15, 0.2, 0.5] s / m, >= 0 */
    double ta_alpha[3];              /**< [TaDragParam110alpha, ...: 1, 1.5, 3] MPa s / m, >= 0 */
    int load_type;                   /**< [loadType: 0] 0 creep, 1 constant strain rate, 4 cycles of strain, ... */
    double strain_amplitude;         /**< [eAmp: 0] of cycles, >= 0 */
    double strain_rate;              /**< [eRate: 1] 1 / s */
    double direction[3];             /**< [edotdir: 1 0 0] of the load, as stored; not 0 */
    double stress[6];                /**< [appliedStress: 0] Pa: xx yy zz yz zx xy */
    int64_t first_step;              /**< [cycleStart: 0] >= 0: steps that an earlier run has made */
    double time;                     /**< [timeNow: 0] s, >= 0: when that run ended */
    double plastic_strain[6];        /**< [totpStn: 0] of that run: xx yy zz yz zx xy */
    char checksum[EQP_PARADIS_NAME]; /**< [networkChecksum: none] of the network that it belongs to: the caller's */
    char *others;                    /**< statements with other keys, a line each as they stood, or NULL: they are
                                        written again; owned by whoever has read them: eqp_paradis_control_free() */
} eqp_paradis_control;

/** All defaults; required parameters, and parameters that follow from other ones, are NaN. */
extern const eqp_paradis_control eqp_paradis_control_defaults;

/** Reads a `.ctrl` file: its statements replace the values in *control, so start with eqp_paradis_control_defaults.
 * Keys are in the table in eqp_paradis_control, in small or capital letters; other keys are kept as text if they have
 * the form of one, up to 1 MiB. Of a key that stands twice the last counts; but networkChecksum, where it stands, is at
 * the beginning and at the end of the file: once only, or with two values, the file is torn. Local.
 * \param[in]     path     (borrowed)
 * \param[in,out] control  unchanged on error; its text `others` is replaced: free with eqp_paradis_control_free()
 * \param[out]    nignored how many other keys there were; may be NULL; unchanged on error
 * \param[out]    ignored  their names, cut where the message is full, "fmEnabled, savecn, ..."; may be NULL; unchanged on error
 * \param[out]    message  may be NULL; unchanged on success
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_IO, EQP_ERR_FORMAT for text that is not a control file, EQP_ERR_DATA for a value out of
 * range, EQP_ERR_MEMORY */
int eqp_paradis_control_read(const char *path, eqp_paradis_control *control, int64_t *nignored, eqp_message *ignored,
                             eqp_message *message);

/** The value of a key that is not in the table of eqp_paradis_control. Local, O(text).
 * \param[in]  control  (borrowed)
 * \param[in]  key      in small or capital letters (borrowed)
 * \param[out] value    without quotes, cut to its room, of a list the first one, the last where the key stands twice;
 *                      unchanged where it does not stand
 * \return true if the key is in the text `others` of *control; false for NULL */
bool eqp_paradis_control_find(const eqp_paradis_control *control, const char *key, char value[EQP_PARADIS_NAME]);

/** Frees what eqp_paradis_control_read() has allocated. The parameters can be used on; NULL is legal. */
void eqp_paradis_control_free(eqp_paradis_control *control);

/** Fills in what was not given and checks what must fit together: maxSeg and rc are there, minSeg <= maxSeg / 2, and no
 * segment longer than 0.9 of a cell. Pure; calling it twice changes nothing.
 * \param[in,out] control  unchanged on error
 * \param[in]     box      [3] edges of the box, b; NULL: cells are not looked at (borrowed)
 * \param[out]    message  "maxSeg: what"; may be NULL; unchanged on success
 * \return EQP_OK, EQP_ERR_ARGUMENT */
int eqp_paradis_control_complete(eqp_paradis_control *control, const double *box, eqp_message *message);

/** Adds the parameters that belong to the network: as the `.ctrl` file `path`, which gets its name when the network
 * does, and in the network's own file in comments, lines that begin with `#= `. So a network whose writer was killed
 * between the two names still has its parameters. Before the first node.
 * \param[in,out] writer   after an error it can only be discarded
 * \param[in]     path     of the `.ctrl` file (copied)
 * \param[in]     control  (borrowed)
 * \param[out]    message  may be NULL; unchanged on success
 * \return EQP_OK, EQP_ERR_ARGUMENT for a name with characters that no string can hold or after the first node, EQP_ERR_IO, EQP_ERR_MEMORY */
int eqp_paradis_write_control(eqp_paradis_writer *writer, const char *path, const eqp_paradis_control *control,
                              eqp_message *message);

/** Lines of two points each, with their attributes. All arrays are borrowed; start with {0}. Every piece of a file must
 * have the same optional arrays as the first, with any numbers of points and lines. */
typedef struct eqp_vtk_piece {
    int64_t npoints;            /**< >= 0 */
    const double (*x)[3];       /**< [npoints] */
    const double (*v)[3];       /**< [npoints] velocity; NULL: none */
    int64_t nlines;             /**< >= 0 */
    const int64_t (*end)[2];    /**< [nlines] points that a line joins, 0 .. npoints - 1 of this piece */
    const double (*burgers)[3]; /**< [nlines] Burgers vector; its magnitude is written too; NULL: none */
    const int *type;            /**< [nlines] type of the line, in the caller's numbering; NULL: none */
    const int *rank;            /**< [nlines] rank that computes the line; NULL: none */
} eqp_vtk_piece;

/** A `.vtp` file that is being written. */
typedef struct eqp_vtk_writer eqp_vtk_writer;

/** Begins a `.vtp` file under a temporary name (see more/base.h). Local, one rank.
 * \param[in]  path     target (copied)
 * \param[in]  time     time of the data, stored as TimeValue
 * \param[out] writer   free with eqp_vtk_finish() or eqp_vtk_discard(); unchanged on error
 * \param[out] message  may be NULL; unchanged on success
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_IO (then no temporary file is left), EQP_ERR_MEMORY */
int eqp_vtk_begin(const char *path, double time, eqp_vtk_writer **writer, eqp_message *message);

/** Writes a piece. O(its size) time, O(1) memory.
 * \param[in,out] writer   after an error it can only be discarded
 * \param[in]     piece    (borrowed)
 * \param[out]    message  may be NULL; unchanged on success
 * \return EQP_OK, EQP_ERR_ARGUMENT for ends out of range or other arrays than before, EQP_ERR_IO */
int eqp_vtk_add(eqp_vtk_writer *writer, const eqp_vtk_piece *piece, eqp_message *message);

/** Gives the file the target's name. Frees the writer in any case; on error no temporary file is left. A file
 * without pieces is written as an empty one.
 * \return EQP_OK, EQP_ERR_IO */
int eqp_vtk_finish(eqp_vtk_writer *writer, eqp_message *message);

/** Removes the temporary file and frees the writer; NULL is legal. */
void eqp_vtk_discard(eqp_vtk_writer *writer);

/** One time of a series. */
typedef struct eqp_vtk_frame {
    const char *path; /**< a `.vtp` file in the folder of the series (borrowed) */
    double time;      /**< time of the frame */
} eqp_vtk_frame;

/** Writes a `.pvd` collection, which ParaView opens as a series in time. It names the files without their folder. An
 * older file is replaced completely or not at all.
 * \param[in]  path     the `.pvd` file
 * \param[in]  nframes  >= 0
 * \param[in]  frame    [nframes] in order of time (borrowed)
 * \param[out] message  may be NULL; unchanged on success
 * \return EQP_OK, EQP_ERR_ARGUMENT for a file in another folder, EQP_ERR_IO, EQP_ERR_MEMORY */
int eqp_vtk_write_series(const char *path, int64_t nframes, const eqp_vtk_frame *frame, eqp_message *message);

#ifdef __cplusplus
}
#endif
#endif
