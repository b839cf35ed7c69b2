# SPDX-License-Identifier: BSD-3-Clause
"""The structs, functions, constants and codes of the headers. Written by bindings/structs.py."""
from ctypes import (Structure, c_bool, c_char, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint,
                    c_uint64, c_void_p)

VERSION = (0, 1, 0)

EQP_COST_KINDS = 8
EQP_TILE_PINS = 2
EQP_WORD_SIZE = 80
EQP_SIZES_BINS = 256
EQP_MEET_SUMS = 32
EQP_MEET_LOWS = 12
EQP_PHASES_MAX = 8
EQP_REGIONS_PARTS = 16777216
EQP_CYCLE_PHASES = 16
EQP_NEEDS_WEIGHTS = 1
EQP_NEEDS_POINTS = 2
EQP_NEEDS_PINS = 4
EQP_NEEDS_UNITS = 8
EQP_NEEDS_SOURCES = 16
EQP_KEEPS = 32
EQP_REFINES = 64
EQP_CAN_SPLIT = 128
EQP_CAN_EVEN = 256
EQP_BY_LOADS = 512
EQP_SHAPED = 1024
EQP_NETS_BRANCHES = 2048
EQP_SCATTERS = 4096
EQP_ANY_ORDER = 8192
EQP_GATHERS = 16384
EQP_SURVEY_NAMES = 0
EQP_SURVEY_WORK = 1
EQP_SHARE_EQUAL = 0
EQP_SHARE_SPEEDS = 1
EQP_SHARE_MEASURED = 2
EQP_SHARE_MODEL = 3
EQP_POLICY_AUTO = 0
EQP_POLICY_NEVER = 1
EQP_POLICY_EVERY = 2
EQP_POLICY_REPAIR = 3
EQP_POLICY_GAIN = 4
EQP_KEEP = 0
EQP_REPAIR = 1
EQP_RENEW = 2
EQP_SAMPLE_RANDOM = 0
EQP_SAMPLE_PARTICLE = 1
EQP_SAMPLE_ADAPTIVE = 2
EQP_SAMPLE_STRIDE = 3
EQP_STAGES_DIRECT = 0
EQP_STAGES_TWO = 1
EQP_STAGES_LOG = 2
EQP_LAZY_IDLE = 0
EQP_LAZY_OFFERED = 1
EQP_LAZY_READY = 2
EQP_LAZY_LOST = 3
EQP_LAZY_LEFT = 4
EQP_OPTION_INT = 0
EQP_OPTION_REAL = 1
EQP_OPTION_CHOICE = 2
EQP_OPTION_FLAG = 3
EQP_OPTION_METHOD = 4

EQP_OK = 0  # no error
EQP_ERR_ARGUMENT = -1  # an argument is out of its range
EQP_ERR_MEMORY = -2  # out of memory
EQP_ERR_OVERFLOW = -3  # a count does not fit into its type
EQP_ERR_IO = -4  # a file cannot be opened, read or written
EQP_ERR_FORMAT = -5  # a file is damaged or in no known format
EQP_ERR_DATA = -6  # the data hold a value that cannot be used
EQP_ERR_UNKNOWN = -7  # no such name
EQP_ERR_MPI = -8  # an MPI call failed
EQP_ERR_ZOLTAN = -9  # Zoltan failed
EQP_ERR_STATE = -10  # the call does not fit the object's state
EQP_ERR_INTERNAL = -11  # an internal check failed
EQP_ERR_REMOTE = -12  # the call failed on another rank
EQP_ERR_STOPPED = -13  # stopped before its end, as was asked for
EQP_ERR_CAPACITY = -14  # the parts have not room for everything


class eqp_message(Structure):
    _fields_ = [
        ("text", c_char * 512),
    ]


class eqp_points(Structure):
    _fields_ = [
        ("n", c_int64),
        ("x", c_void_p),
        ("stride", c_size_t),
        ("single", c_bool),
        ("weight", c_void_p),
        ("size", c_void_p),
        ("part_now", c_void_p),
        ("phase_load", c_void_p),
    ]


class eqp_point_column(Structure):
    _fields_ = [
        ("element_size", c_size_t),
        ("send", c_void_p),
        ("recv", c_void_p),
    ]


class eqp_walls_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("low", c_double * 3),
        ("high", c_double * 3),
        ("least", c_double * 3),
    ]


class eqp_settings(Structure):
    _fields_ = [
        ("word", c_int64 * 8),
    ]


class eqp_balance_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("nparts", c_int),
        ("share", c_void_p),
        ("imbalance_tol", c_double),
        ("seed", c_uint64),
        ("message", c_void_p),
        ("part_load", c_void_p),
        ("settings", eqp_settings),
        ("nphases", c_int),
        ("times", c_void_p),
        ("capacity", c_void_p),
        ("regions", c_void_p),
    ]


class eqp_balance_result(Structure):
    _fields_ = [
        ("imbalance", c_double),
        ("imbalance_unrepaired", c_double),
        ("imbalance_curve", c_double),
        ("imbalance_floor", c_double),
        ("load_max", c_double),
        ("load_mean", c_double),
        ("items", c_int64),
        ("moved", c_int64),
        ("moved_bytes", c_int64),
        ("repaired", c_int64),
        ("empty_parts", c_int),
        ("within", c_int),
        ("curve_better", c_int),
        ("cycle_efficiency", c_double),
        ("phase_imbalance", c_double * 16),
    ]


class eqp_option(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("type", c_int),
        ("offset", c_size_t),
        ("low", c_double),
        ("above", c_bool),
        ("high", c_double),
        ("choices", c_char_p),
        ("help", c_char_p),
    ]


class eqp_method(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("summary", c_char_p),
        ("flags", c_uint),
        ("assign", c_void_p),
        ("noptions", c_int),
        ("option", c_void_p),
        ("assign_alone", c_void_p),
    ]


class eqp_methods(Structure):
    _fields_ = [
        ("row", c_void_p),
        ("n", c_int),
    ]


class eqp_choice_options(Structure):
    _fields_ = [
        ("strategy", c_int),
        ("rate", c_double),
        ("threshold", c_double),
        ("pins", c_int64),
        ("full", c_bool),
        ("start", c_void_p),
        ("split", c_bool),
        ("even", c_int),
        ("homes", c_int),
        ("maps", c_int),
    ]


class eqp_choice(Structure):
    _fields_ = [
        ("word", c_char * 80),
        ("method", c_void_p),
        ("options", eqp_choice_options),
        ("settings", eqp_settings),
    ]


class eqp_overhead(Structure):
    _fields_ = [
        ("held", c_double),
        ("ghost", c_double),
        ("byte", c_double),
        ("part", c_double),
        ("calls", c_int),
        ("gathers", c_int),
        ("gathered", c_int),
        ("handshakes", c_int),
    ]


class eqp_memory(Structure):
    _fields_ = [
        ("fixed", c_double),
        ("held", c_double),
        ("ghost", c_double),
        ("byte", c_double),
    ]


class eqp_problem(Structure):
    _fields_ = [
        ("user", c_void_p),
        ("nkinds", c_int),
        ("nominal", c_void_p),
        ("once", c_uint),
        ("nphases", c_int),
        ("back", c_void_p),
        ("ghosts", c_void_p),
        ("overhead", c_void_p),
        ("memory", c_void_p),
        ("branch", c_double),
        ("own", c_void_p),
        ("apart", c_bool),
        ("estimates", c_bool),
        ("cycle", c_void_p),
        ("turn", c_void_p),
        ("survey", c_void_p),
        ("open", c_void_p),
        ("close", c_void_p),
        ("aspect", c_void_p),
        ("base", c_void_p),
        ("trace", c_void_p),
        ("assign", c_void_p),
        ("advance", c_void_p),
        ("label", c_void_p),
        ("ngrains", c_int),
        ("grain", c_void_p),
    ]


class eqp_owner(Structure):
    _fields_ = [
        ("key", c_uint64),
        ("id", c_int64),
        ("pin", c_int64),
        ("particles", c_int32),
        ("home", c_int32),
        ("at_home", c_int64),
        ("bytes", c_int64),
        ("tag", c_int64),
        ("label", c_int64),
        ("centre", c_double * 3),
        ("count", c_int64 * 8),
        ("interactions", c_int64),
        ("npins", c_int64),
        ("ntiles", c_int64),
    ]


class eqp_tile(Structure):
    _fields_ = [
        ("centroid", c_double * 3),
        ("weight", c_double),
        ("pin", c_int64 * 2),
    ]


class eqp_placement(Structure):
    _fields_ = [
        ("tag", c_int64),
        ("home", c_int),
    ]


class eqp_policy_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("mode", c_int),
        ("every", c_int64),
        ("imbalance_tol", c_double),
        ("settle", c_int),
        ("jump", c_double),
        ("false_alarms", c_double),
    ]


class eqp_share_options(Structure):
    _fields_ = [
        ("kind", c_int),
        ("model", c_void_p),
        ("nspeeds", c_int),
        ("speed", c_void_p),
    ]


class eqp_exchange_plan(Structure):
    _fields_ = [
        ("stages", c_int),
        ("broadcast", c_int),
        ("node", c_int),
    ]


class eqp_network(Structure):
    _fields_ = [
        ("alpha", c_double),
        ("beta", c_double),
        ("node", c_int),
        ("reduce", c_double),
        ("gather", c_double),
        ("gather_byte", c_double),
    ]


class eqp_clock(Structure):
    _fields_ = [
        ("seconds", c_void_p),
        ("user", c_void_p),
    ]


class eqp_capacities(Structure):
    _fields_ = [
        ("n", c_int),
        ("bytes", c_void_p),
        ("of_mean", c_double),
    ]


class eqp_balancer_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("method", eqp_choice),
        ("imbalance_tol", c_double),
        ("fresh_tol", c_double),
        ("assign_tol", c_double),
        ("seed", c_uint64),
        ("policy", eqp_policy_options),
        ("share", eqp_share_options),
        ("plan_auto", c_bool),
        ("plan", eqp_exchange_plan),
        ("network", eqp_network),
        ("network_measure", c_bool),
        ("calibrate", c_bool),
        ("handed_out", c_bool),
        ("lazy", c_void_p),
        ("fixed_costs", c_bool),
        ("clock", eqp_clock),
        ("capacities", eqp_capacities),
    ]


class eqp_advice(Structure):
    _fields_ = [
        ("action", c_int),
        ("changed", c_bool),
        ("placement", c_void_p),
        ("nplacements", c_int64),
        ("bytes", c_int64),
    ]


class eqp_rank_row(Structure):
    _fields_ = [
        ("load", c_double),
        ("predicted", c_double),
        ("work", c_double),
        ("next", c_double),
        ("speed", c_double),
        ("particles", c_double),
        ("targets", c_double),
        ("interactions", c_double),
        ("helped", c_double),
        ("ghosts", c_double),
        ("bytes_sent", c_double),
        ("bytes_moved", c_double),
        ("last_messages_sent", c_double),
        ("last_messages_received", c_double),
        ("last_bytes_sent", c_double),
        ("last_bytes_received", c_double),
        ("migrated", c_double),
        ("exchange_seconds", c_double),
        ("balance_seconds", c_double),
        ("busy_seconds", c_double),
        ("overhead", c_double),
        ("memory", c_double),
    ]


class eqp_work(Structure):
    _fields_ = [
        ("row", c_void_p),
        ("row_bytes", c_size_t),
        ("rows", c_void_p),
        ("count", c_void_p),
        ("last", c_void_p),
        ("evaluations", c_int64),
        ("timings", c_void_p),
        ("moved", c_bool),
        ("nphases", c_int),
        ("phase_load", c_void_p),
        ("phase_count", c_void_p),
        ("code", c_int),
        ("nsums", c_int),
        ("nlows", c_int),
        ("sum", c_void_p),
        ("low", c_void_p),
    ]


class eqp_sizes(Structure):
    _fields_ = [
        ("n", c_int64),
        ("zeros", c_int64),
        ("sum", c_double),
        ("sum_squares", c_double),
        ("sum_logs", c_double),
        ("min", c_double),
        ("max", c_double),
        ("bin", c_int64 * 256),
    ]


class eqp_step(Structure):
    _fields_ = [
        ("step", c_int64),
        ("time", c_double),
        ("rebalanced", c_bool),
        ("imbalance_predicted", c_double),
        ("imbalance_measured", c_double),
        ("imbalance_promised", c_double),
        ("imbalance_work", c_double),
        ("load_max", c_double),
        ("load_mean", c_double),
        ("exchange_seconds", c_double),
        ("balance_seconds", c_double),
        ("step_measured", c_double),
        ("step_predicted", c_double),
        ("memory_max", c_double),
        ("memory_use", c_double),
        ("nphases", c_int),
        ("cycle_efficiency", c_double),
        ("phase_measured", c_double * 16),
        ("phase_predicted", c_double * 16),
        ("interactions", c_int64),
        ("units", c_int64),
        ("split_owners", c_int64),
        ("migrated", c_int64),
        ("ghosts_total", c_int64),
        ("ghosts_max", c_int64),
        ("bytes_sent", c_int64),
        ("bytes_moved", c_int64),
        ("bytes_total", c_int64),
        ("bytes_max", c_int64),
        ("messages_max", c_int64),
        ("handed", c_int64),
        ("calibration", c_double),
        ("correlation", c_double),
        ("unit_sizes", eqp_sizes),
        ("map_age", c_int64),
        ("lazy", c_int),
        ("action", c_int),
        ("chosen", c_char * 80),
        ("why", c_char * 192),
    ]


class eqp_evaluated(Structure):
    _fields_ = [
        ("load_max", c_double),
        ("load_mean", c_double),
        ("imbalance", c_double),
        ("ghosts_total", c_int64),
        ("ghosts_max", c_int64),
        ("neighbours_max", c_int),
        ("messages_max", c_int64),
        ("bytes_total", c_int64),
        ("bytes_max", c_int64),
        ("step_seconds", c_double),
        ("step_seconds_ideal", c_double),
        ("exchange_seconds", c_double),
        ("hidden_seconds", c_double),
        ("overhead_seconds", c_double),
        ("memory_max", c_double),
        ("memory_mean", c_double),
        ("memory_use", c_double),
        ("plan", eqp_exchange_plan),
    ]


class eqp_comparison(Structure):
    _fields_ = [
        ("nchoices", c_int),
        ("choice", c_void_p),
        ("ncounts", c_int),
        ("parts", c_void_p),
        ("network", c_void_p),
        ("plan", c_void_p),
        ("nspeeds", c_int),
        ("speed", c_void_p),
        ("on_rows", c_void_p),
        ("on_map", c_void_p),
        ("user", c_void_p),
        ("capacities", eqp_capacities),
    ]


class eqp_cycle_turns(Structure):
    _fields_ = [
        ("n", c_int),
        ("times", c_double * 16),
    ]


class eqp_cycle(Structure):
    _fields_ = [
        ("efficiency", c_double),
        ("worst", c_double),
        ("worst_phase", c_int),
        ("imbalance", c_double * 16),
    ]


class eqp_compared(Structure):
    _fields_ = [
        ("method", c_char_p),
        ("chosen", c_char * 80),
        ("parts", c_int),
        ("units", c_int64),
        ("split_owners", c_int64),
        ("sample_rate", c_double),
        ("balance_seconds", c_double),
        ("imbalance_next", c_double),
        ("evaluated", eqp_evaluated),
        ("phases", eqp_cycle_turns),
        ("cycle", eqp_cycle),
        ("phase", eqp_evaluated * 16),
        ("step_next", c_double),
        ("grain", c_int),
    ]


# The functions that the package calls: result and arguments. A communicator is an int or a pointer.
FUNCTIONS = {
    "eqp_agree": (c_int, [("comm", c_void_p), ("code", c_int), ("message", c_void_p)]),
    "eqp_balance_points": (c_int, [("comm", c_void_p), ("method", c_void_p), ("points", c_void_p), ("options",
        c_void_p), ("part", c_void_p), ("result", c_void_p)]),
    "eqp_balance_send": (c_int, [("comm", c_void_p), ("method", c_void_p), ("points", c_void_p), ("options", c_void_p),
        ("ncolumns", c_int), ("column", c_void_p), ("nrecv", c_void_p), ("result", c_void_p)]),
    "eqp_balancer_advise": (c_int, [("balancer", c_void_p), ("left", c_int64), ("advice", c_void_p), ("message",
        c_void_p)]),
    "eqp_balancer_begin": (c_int, [("balancer", c_void_p), ("advice", c_void_p), ("message", c_void_p)]),
    "eqp_balancer_compare": (c_int, [("balancer", c_void_p), ("comparison", c_void_p), ("rows", c_void_p), ("message",
        c_void_p)]),
    "eqp_balancer_costs": (c_void_p, [("balancer", c_void_p)]),
    "eqp_balancer_create": (c_int, [("comm", c_void_p), ("problem", c_void_p), ("options", c_void_p), ("balancer",
        c_void_p), ("message", c_void_p)]),
    "eqp_balancer_due": (c_bool, [("balancer", c_void_p)]),
    "eqp_balancer_free": (None, [("balancer", c_void_p)]),
    "eqp_balancer_map": (c_void_p, [("balancer", c_void_p)]),
    "eqp_balancer_options_init": (c_int, [("options", c_void_p), ("size", c_size_t)]),
    "eqp_balancer_pack": (c_int, [("balancer", c_void_p), ("size", c_void_p), ("bytes", c_void_p)]),
    "eqp_balancer_record": (c_int, [("balancer", c_void_p), ("work", c_void_p), ("step", c_void_p)]),
    "eqp_balancer_renew": (c_int, [("balancer", c_void_p), ("left", c_int64), ("advice", c_void_p), ("message",
        c_void_p)]),
    "eqp_balancer_unpack": (c_int, [("balancer", c_void_p), ("size", c_size_t), ("bytes", c_void_p)]),
    "eqp_busy_seconds": (c_double, []),
    "eqp_choice_parse": (c_int, [("own", c_void_p), ("usual", c_void_p), ("word", c_char_p), ("choice", c_void_p),
        ("message", c_void_p)]),
    "eqp_choices_parse": (c_int, [("own", c_void_p), ("usual", c_void_p), ("words", c_char_p), ("n", c_void_p),
        ("choices", c_void_p), ("message", c_void_p)]),
    "eqp_cost_fit_predict": (c_double, [("fit", c_void_p), ("count", c_void_p)]),
    "eqp_cpu_seconds": (c_double, []),
    "eqp_cut_keys": (c_int, [("comm", c_void_p), ("n", c_int64), ("key", c_void_p), ("work", c_void_p), ("part",
        c_void_p), ("message", c_void_p)]),
    "eqp_error_text": (c_char_p, [("code", c_int)]),
    "eqp_evaluation_block": (c_int, [("evaluation", c_void_p), ("phase", c_int), ("block", c_int64), ("bytes", c_int64),
        ("elements", c_int64), ("home", c_int)]),
    "eqp_evaluation_common": (c_int, [("evaluation", c_void_p), ("part", c_int), ("bytes", c_int64)]),
    "eqp_evaluation_held": (c_int, [("evaluation", c_void_p), ("part", c_int), ("elements", c_int64)]),
    "eqp_evaluation_load": (c_int, [("evaluation", c_void_p), ("part", c_int), ("seconds", c_double)]),
    "eqp_evaluation_meanwhile": (c_int, [("evaluation", c_void_p), ("phase", c_int), ("part", c_int), ("seconds",
        c_double)]),
    "eqp_evaluation_need": (c_int, [("evaluation", c_void_p), ("phase", c_int), ("block", c_int64), ("part", c_int)]),
    "eqp_exchange_plan_parse": (c_int, [("name", c_char_p), ("plan", c_void_p)]),
    "eqp_gather_records": (c_int, [("comm", c_void_p), ("element_size", c_size_t), ("n", c_int64), ("send", c_void_p),
        ("nrecv", c_void_p), ("recv", c_void_p)]),
    "eqp_hilbert_keys": (c_int, [("n", c_int64), ("x", c_void_p), ("y", c_void_p), ("z", c_void_p), ("corner",
        c_void_p), ("side", c_double), ("key", c_void_p)]),
    "eqp_map_own_rank": (c_int, [("map", c_void_p), ("tag", c_int64)]),
    "eqp_map_rank": (c_int, [("map", c_void_p), ("tag", c_int64), ("centroid", c_void_p)]),
    "eqp_map_shared": (c_int64, [("map", c_void_p)]),
    "eqp_map_tag_in": (c_int64, [("map", c_void_p), ("tag", c_int64), ("phase", c_int)]),
    "eqp_method_at": (c_void_p, [("i", c_int)]),
    "eqp_method_count": (c_int, []),
    "eqp_method_read": (c_int, [("word", c_char_p), ("method", c_void_p), ("settings", c_void_p), ("message",
        c_void_p)]),
    "eqp_method_set": (c_int, [("method", c_void_p), ("name", c_char_p), ("value", c_char_p), ("settings", c_void_p),
        ("message", c_void_p)]),
    "eqp_move_apply": (c_int, [("comm", c_void_p), ("plan", c_void_p), ("recv_count", c_void_p), ("element_size",
        c_size_t), ("send", c_void_p), ("recv", c_void_p)]),
    "eqp_move_counts": (c_int, [("comm", c_void_p), ("plan", c_void_p), ("recv_count", c_void_p), ("nrecv", c_void_p)]),
    "eqp_move_plan_create": (c_int, [("n", c_int64), ("dest", c_void_p), ("nranks", c_int), ("plan", c_void_p)]),
    "eqp_move_plan_free": (None, [("plan", c_void_p)]),
    "eqp_move_return": (c_int, [("comm", c_void_p), ("plan", c_void_p), ("recv_count", c_void_p), ("element_size",
        c_size_t), ("send", c_void_p), ("recv", c_void_p)]),
    "eqp_point_order_bring": (c_int, [("order", c_void_p), ("element_size", c_size_t), ("send", c_void_p), ("recv",
        c_void_p)]),
    "eqp_point_order_count": (c_int64, [("order", c_void_p)]),
    "eqp_point_order_create": (c_int, [("comm", c_void_p), ("points", c_void_p), ("order", c_void_p)]),
    "eqp_point_order_free": (None, [("order", c_void_p)]),
    "eqp_point_order_return": (c_int, [("order", c_void_p), ("element_size", c_size_t), ("send", c_void_p), ("recv",
        c_void_p)]),
    "eqp_policy_options_parse": (c_int, [("text", c_char_p), ("options", c_void_p)]),
    "eqp_random_uniform": (c_double, [("seed", c_uint64), ("stream", c_uint64), ("counter", c_uint64)]),
    "eqp_regions_box": (c_int, [("regions", c_void_p), ("part", c_int), ("low", c_void_p), ("high", c_void_p)]),
    "eqp_regions_create": (c_int, [("comm", c_void_p), ("points", c_void_p), ("part", c_void_p), ("nparts", c_int),
        ("regions", c_void_p), ("message", c_void_p)]),
    "eqp_regions_find": (c_int, [("regions", c_void_p), ("place", c_void_p)]),
    "eqp_regions_free": (None, [("regions", c_void_p)]),
    "eqp_regions_touch": (c_int, [("regions", c_void_p), ("low", c_void_p), ("high", c_void_p), ("reach", c_double),
        ("domain", c_void_p), ("part", c_void_p), ("n", c_void_p)]),
    "eqp_regions_walls": (c_int, [("regions", c_void_p), ("part", c_int), ("low", c_void_p), ("high", c_void_p)]),
    "eqp_send_records": (c_int, [("comm", c_void_p), ("element_size", c_size_t), ("n", c_int64), ("dest", c_void_p),
        ("send", c_void_p), ("nrecv", c_void_p), ("recv", c_void_p)]),
    "eqp_survey_add_owner": (c_int, [("survey", c_void_p), ("owner", c_void_p)]),
    "eqp_survey_add_pin": (c_int, [("survey", c_void_p), ("pin", c_int64)]),
    "eqp_survey_add_tile": (c_int, [("survey", c_void_p), ("tile", c_void_p)]),
    "eqp_survey_heavy": (c_double, [("survey", c_void_p)]),
    "eqp_survey_reserve": (c_int, [("survey", c_void_p), ("owners", c_int64)]),
    "eqp_survey_room_for_pins": (c_int, [("survey", c_void_p), ("most", c_int64), ("pin", c_void_p)]),
    "eqp_survey_took_pins": (c_int, [("survey", c_void_p), ("n", c_int64)]),
    "eqp_survey_weigh": (c_double, [("survey", c_void_p), ("count", c_void_p)]),
    "eqp_verify_records": (c_int, [("comm", c_void_p), ("n", c_int64), ("id", c_void_p), ("element_size", c_size_t),
        ("record", c_void_p), ("sum", c_void_p), ("message", c_void_p)]),
    "eqp_version": (c_char_p, []),
    "eqp_wait_begin": (None, []),
    "eqp_wait_end": (None, []),
    "eqp_walls": (c_int, [("comm", c_void_p), ("method", c_void_p), ("points", c_void_p), ("options", c_void_p), ("how",
        c_void_p), ("grid", c_void_p), ("regions", c_void_p)]),
}
