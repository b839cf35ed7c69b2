! SPDX-License-Identifier: BSD-3-Clause
!> The structs, constants and codes of the C headers. Written by bindings/structs.py.
module equipoise_types
  use, intrinsic :: iso_c_binding
  implicit none
  public

  integer, parameter :: EQP_VERSION_MAJOR = 0
  integer, parameter :: EQP_VERSION_MINOR = 1
  integer, parameter :: EQP_VERSION_PATCH = 0
  integer(c_int), parameter :: EQP_COST_KINDS = 8
  integer(c_int), parameter :: EQP_TILE_PINS = 2
  integer(c_int), parameter :: EQP_WORD_SIZE = 80
  integer(c_int), parameter :: EQP_SIZES_BINS = 256
  integer(c_int), parameter :: EQP_MEET_SUMS = 32
  integer(c_int), parameter :: EQP_MEET_LOWS = 12
  integer(c_int), parameter :: EQP_PHASES_MAX = 8
  integer(c_int), parameter :: EQP_REGIONS_PARTS = 16777216
  integer(c_int), parameter :: EQP_CYCLE_PHASES = 16
  integer(c_int), parameter :: EQP_NEEDS_WEIGHTS = 1
  integer(c_int), parameter :: EQP_NEEDS_POINTS = 2
  integer(c_int), parameter :: EQP_NEEDS_PINS = 4
  integer(c_int), parameter :: EQP_NEEDS_UNITS = 8
  integer(c_int), parameter :: EQP_NEEDS_SOURCES = 16
  integer(c_int), parameter :: EQP_KEEPS = 32
  integer(c_int), parameter :: EQP_REFINES = 64
  integer(c_int), parameter :: EQP_CAN_SPLIT = 128
  integer(c_int), parameter :: EQP_CAN_EVEN = 256
  integer(c_int), parameter :: EQP_BY_LOADS = 512
  integer(c_int), parameter :: EQP_SHAPED = 1024
  integer(c_int), parameter :: EQP_NETS_BRANCHES = 2048
  integer(c_int), parameter :: EQP_SCATTERS = 4096
  integer(c_int), parameter :: EQP_ANY_ORDER = 8192
  integer(c_int), parameter :: EQP_GATHERS = 16384
  integer(c_int), parameter :: EQP_SURVEY_NAMES = 0
  integer(c_int), parameter :: EQP_SURVEY_WORK = 1
  integer(c_int), parameter :: EQP_SHARE_EQUAL = 0
  integer(c_int), parameter :: EQP_SHARE_SPEEDS = 1
  integer(c_int), parameter :: EQP_SHARE_MEASURED = 2
  integer(c_int), parameter :: EQP_SHARE_MODEL = 3
  integer(c_int), parameter :: EQP_POLICY_AUTO = 0
  integer(c_int), parameter :: EQP_POLICY_NEVER = 1
  integer(c_int), parameter :: EQP_POLICY_EVERY = 2
  integer(c_int), parameter :: EQP_POLICY_REPAIR = 3
  integer(c_int), parameter :: EQP_POLICY_GAIN = 4
  integer(c_int), parameter :: EQP_KEEP = 0
  integer(c_int), parameter :: EQP_REPAIR = 1
  integer(c_int), parameter :: EQP_RENEW = 2
  integer(c_int), parameter :: EQP_SAMPLE_RANDOM = 0
  integer(c_int), parameter :: EQP_SAMPLE_PARTICLE = 1
  integer(c_int), parameter :: EQP_SAMPLE_ADAPTIVE = 2
  integer(c_int), parameter :: EQP_SAMPLE_STRIDE = 3
  integer(c_int), parameter :: EQP_STAGES_DIRECT = 0
  integer(c_int), parameter :: EQP_STAGES_TWO = 1
  integer(c_int), parameter :: EQP_STAGES_LOG = 2
  integer(c_int), parameter :: EQP_LAZY_IDLE = 0
  integer(c_int), parameter :: EQP_LAZY_OFFERED = 1
  integer(c_int), parameter :: EQP_LAZY_READY = 2
  integer(c_int), parameter :: EQP_LAZY_LOST = 3
  integer(c_int), parameter :: EQP_LAZY_LEFT = 4
  integer(c_int), parameter :: EQP_OPTION_INT = 0
  integer(c_int), parameter :: EQP_OPTION_REAL = 1
  integer(c_int), parameter :: EQP_OPTION_CHOICE = 2
  integer(c_int), parameter :: EQP_OPTION_FLAG = 3
  integer(c_int), parameter :: EQP_OPTION_METHOD = 4

  integer, parameter :: EQP_OK = 0 !< no error
  integer, parameter :: EQP_ERR_ARGUMENT = -1 !< an argument is out of its range
  integer, parameter :: EQP_ERR_MEMORY = -2 !< out of memory
  integer, parameter :: EQP_ERR_OVERFLOW = -3 !< a count does not fit into its type
  integer, parameter :: EQP_ERR_IO = -4 !< a file cannot be opened, read or written
  integer, parameter :: EQP_ERR_FORMAT = -5 !< a file is damaged or in no known format
  integer, parameter :: EQP_ERR_DATA = -6 !< the data hold a value that cannot be used
  integer, parameter :: EQP_ERR_UNKNOWN = -7 !< no such name
  integer, parameter :: EQP_ERR_MPI = -8 !< an MPI call failed
  integer, parameter :: EQP_ERR_ZOLTAN = -9 !< Zoltan failed
  integer, parameter :: EQP_ERR_STATE = -10 !< the call does not fit the object's state
  integer, parameter :: EQP_ERR_INTERNAL = -11 !< an internal check failed
  integer, parameter :: EQP_ERR_REMOTE = -12 !< the call failed on another rank
  integer, parameter :: EQP_ERR_STOPPED = -13 !< stopped before its end, as was asked for
  integer, parameter :: EQP_ERR_CAPACITY = -14 !< the parts have not room for everything

  type, bind(c) :: eqp_message
    !> zero-terminated UTF-8 without control characters, a single line
    character(kind=c_char) :: text(512) = c_null_char
  end type eqp_message

  type, bind(c) :: eqp_points
    !> items of this rank, >= 0
    integer(c_int64_t) :: n = 0
    !> first coordinate of the first item; an item's three coordinates are contiguous
    type(c_ptr) :: x = c_null_ptr
    !> bytes from one item to the next; 0: items are contiguous
    integer(c_size_t) :: stride = 0
    !> true: coordinates are floats; false: doubles; the same on all ranks
    logical(c_bool) :: single = .false.
    !> [n] measured or counted work, finite, >= 0; NULL on all ranks: 1 each
    type(c_ptr) :: weight = c_null_ptr
    !> [n] bytes that move with an item; NULL on all ranks: 1 each
    type(c_ptr) :: size = c_null_ptr
    !> [n] present part of each, for methods that start from it or renumber towards it; NULL: this rank
    type(c_ptr) :: part_now = c_null_ptr
    !> [n][options->nphases] cost in each phase of a cycle (survey.h), finite, >= 0, if there are several;
    !! then weight NULL is the sum of times x load. Otherwise ignored
    type(c_ptr) :: phase_load = c_null_ptr
  end type eqp_points

  type, bind(c) :: eqp_point_column
    !> bytes, >= 1, the same on all ranks
    integer(c_size_t) :: element_size = 0
    !> [points->n] elements (borrowed)
    type(c_ptr) :: send = c_null_ptr
    !> gets the received elements, owned by the caller: free()
    type(c_ptr) :: recv = c_null_ptr
  end type eqp_point_column

  type, bind(c) :: eqp_walls_options
    !> size of this struct in the caller's version: set by eqp_walls_options_defaults()
    integer(c_size_t) :: size = 0
    !> lowest corner of the domain; zeros in low and high: the bounding box of all items
    real(c_double) :: low(3) = 0
    !> highest corner
    real(c_double) :: high(3) = 0
    !> smallest width of a part along each axis, such as a cut-off; 0: any width, even 0
    real(c_double) :: least(3) = 0
  end type eqp_walls_options

  type, bind(c) :: eqp_settings
    !> storage for the values
    integer(c_int64_t) :: word(8) = 0
  end type eqp_settings

  type, bind(c) :: eqp_balance_options
    !> size of this struct in the caller's version: set by eqp_balance_options_defaults()
    integer(c_size_t) :: size = 0
    !> number of parts, >= 1; need not equal the number of ranks
    integer(c_int) :: nparts = 0
    !> [nparts] target fractions > 0, sum 1 within 1e-9; NULL: equal (borrowed)
    type(c_ptr) :: share = c_null_ptr
    !> target imbalance, >= 0
    real(c_double) :: imbalance_tol = 0
    !> seed of the hypergraph partitioner
    integer(c_int64_t) :: seed = 0
    !> one line about a failure, the same on all ranks; NULL: no message
    type(c_ptr) :: message = c_null_ptr
    !> `feedback`: [nparts] measured load of each present part, finite, >= 0; all 0: no measurement yet. NULL:
    !! the weights replace the measurement (borrowed)
    type(c_ptr) :: part_load = c_null_ptr
    !> values of the method's own options: zeros, or set by eqp_method_set()
    type(eqp_settings) :: settings
    !> phases of a cycle, 0 to EQP_CYCLE_PHASES; 0 and 1 without `phase_load`: one load
    integer(c_int) :: nphases = 0
    !> [nphases] occurrences of each phase in a cycle, finite, > 0; NULL: once (borrowed)
    type(c_ptr) :: times = c_null_ptr
    !> [nparts] largest sum of the `size` of a part's items, >= 0; NULL: no limit. No returned part exceeds
    !! it: if the method leaves such a part, items are moved at the smallest loss of balance that the repair
    !! finds (borrowed)
    type(c_ptr) :: capacity = c_null_ptr
    !> output of eqp_balance_points() and eqp_balance_send(): the regions of the parts (points.h), owned by
    !! the caller; unchanged on error. EQP_ERR_STATE if the method's parts have no such regions. NULL: no
    !! regions. Other calls ignore it
    type(c_ptr) :: regions = c_null_ptr
  end type eqp_balance_options

  type, bind(c) :: eqp_balance_result
    !> of the returned parts
    real(c_double) :: imbalance = 0
    !> of the partitioner's result, before repair
    real(c_double) :: imbalance_unrepaired = 0
    !> of the weighted curve cut used as start or for comparison; NaN: no cut was made
    real(c_double) :: imbalance_curve = 0
    !> lower bound for any assignment of these items (the largest item)
    real(c_double) :: imbalance_floor = 0
    !> largest load / (nparts x share): with equal shares the largest load
    real(c_double) :: load_max = 0
    !> total load / nparts
    real(c_double) :: load_mean = 0
    !> items of all ranks
    integer(c_int64_t) :: items = 0
    !> items whose present part was known and has changed
    integer(c_int64_t) :: moved = 0
    !> sum of their `size`
    integer(c_int64_t) :: moved_bytes = 0
    !> items moved by the repair
    integer(c_int64_t) :: repaired = 0
    !> parts without items
    integer(c_int) :: empty_parts = 0
    !> 1 if imbalance <= imbalance_tol
    integer(c_int) :: within = 0
    !> 1 if imbalance > imbalance_tol and imbalance_curve is smaller
    integer(c_int) :: curve_better = 0
    !> efficiency of the cycle's phases (survey.h); with one load 1 / (1 + imbalance)
    real(c_double) :: cycle_efficiency = 0
    !> of each phase, then zeros; with one load the first entry is `imbalance`
    real(c_double) :: phase_imbalance(16) = 0
  end type eqp_balance_result

  type, bind(c) :: eqp_option
    !> as the user writes it
    type(c_ptr) :: name = c_null_ptr
    !> type of the value
    integer(c_int) :: type = 0
    !> byte offset of the value in the settings
    integer(c_size_t) :: offset = 0
    !> smallest legal number
    real(c_double) :: low = 0
    !> true if a real number must be above `low`, not equal to it
    logical(c_bool) :: above = .false.
    !> largest legal number; INFINITY: no limit
    real(c_double) :: high = 0
    !> for EQP_OPTION_CHOICE: words separated by '|', else NULL
    type(c_ptr) :: choices = c_null_ptr
    !> one line of help text
    type(c_ptr) :: help = c_null_ptr
  end type eqp_option

  type, bind(c) :: eqp_method
    !> as in `--balance=NAME`
    type(c_ptr) :: name = c_null_ptr
    !> one line of description
    type(c_ptr) :: summary = c_null_ptr
    !> enum eqp_method_flags
    integer(c_int) :: flags = 0
    type(c_funptr) :: assign = c_null_funptr
    !> options of its own
    integer(c_int) :: noptions = 0
    !> [noptions] the options, with their offsets into options->settings; NULL: none
    type(c_ptr) :: option = c_null_ptr
    type(c_funptr) :: assign_alone = c_null_funptr
  end type eqp_method

  type, bind(c) :: eqp_methods
    !> [n] (borrowed); the code itself runs a row whose `assign` is NULL
    type(c_ptr) :: row = c_null_ptr
    !> rows, >= 0
    integer(c_int) :: n = 0
  end type eqp_methods

  type, bind(c) :: eqp_choice_options
    !> `strategy`, with EQP_NEEDS_UNITS: how centroids are drawn
    integer(c_int) :: strategy = 0
    !> `rate`, with EQP_NEEDS_UNITS: units per interaction, at most 1; 0: from the tolerance
    real(c_double) :: rate = 0
    !> `threshold`, with EQP_NEEDS_UNITS: multiple of the target weight above which a unit is split again
    real(c_double) :: threshold = 0
    !> `pins`, with EQP_NEEDS_PINS: largest number per unit; 0: chosen automatically; 2: its owner and the
    !! other end of the interaction next to its centroid (Pearce 2014)
    integer(c_int64_t) :: pins = 0
    !> `full`, with EQP_NEEDS_PINS: every interaction is a unit with all its pins
    logical(c_bool) :: full = .false.
    !> `start`, with EQP_REFINES: method whose parts are refined; NULL: the present parts, or the curve's
    type(c_ptr) :: start = c_null_ptr
    !> `split`, with EQP_CAN_SPLIT: assign work units instead of whole owners
    logical(c_bool) :: split = .false.
    !> `even`, with EQP_CAN_EVEN: 0 `load`; 1 `step`: load plus exchange; with `maps` 1 a rank computes its
    !! own owners in phases that become shorter by it
    integer(c_int) :: even = 0
    !> `homes`, with EQP_SCATTERS: 0 `parts`: owners live on the part that computes them; 1 `curve`: each part
    !! is home to a run of the curve with equally many particles, whatever part computes them, if the code
    !! supports that (eqp_problem.apart)
    integer(c_int) :: homes = 0
    !> `maps`, with EQP_CAN_SPLIT: 0 `cycle`: one map for all phases of a cycle (survey.h); 1 `phase`: each
    !! phase has its own map (eqp_map_tag_in()), and data stay in runs of the curve, as with `homes` 1, but
    !! runs of equal work. With one phase the same as `homes` alone
    integer(c_int) :: maps = 0
  end type eqp_choice_options

  type, bind(c) :: eqp_choice
    !> as written
    character(kind=c_char) :: word(80) = c_null_char
    !> row of the method (borrowed)
    type(c_ptr) :: method = c_null_ptr
    !> options, as changed by the word
    type(eqp_choice_options) :: options
    !> of the method's own options
    type(eqp_settings) :: settings
  end type eqp_choice

  type, bind(c) :: eqp_overhead
    !> seconds per element held by a part: motion, trees, sums; >= 0
    real(c_double) :: held = 0
    !> seconds per received ghost; >= 0
    real(c_double) :: ghost = 0
    !> seconds per sent byte: finding and packing the data; >= 0
    real(c_double) :: byte = 0
    !> seconds of every part; >= 0
    real(c_double) :: part = 0
    !> reductions and barriers, blocking or not
    integer(c_int) :: calls = 0
    !> allgathers in addition to those of the phases and of common data
    integer(c_int) :: gathers = 0
    !> total bytes that every part contributes to these allgathers; 0 without them
    integer(c_int) :: gathered = 0
    !> messages that announce each message: alpha each
    integer(c_int) :: handshakes = 0
  end type eqp_overhead

  type, bind(c) :: eqp_memory
    !> bytes of every part; >= 0
    real(c_double) :: fixed = 0
    !> bytes per element held by a part; >= 0
    real(c_double) :: held = 0
    !> bytes per received ghost; >= 0
    real(c_double) :: ghost = 0
    !> buffer bytes per byte sent or received; >= 0
    real(c_double) :: byte = 0
  end type eqp_memory

  type, bind(c) :: eqp_problem
    !> passed to all functions
    type(c_ptr) :: user = c_null_ptr
    !> kinds of work, 1 to EQP_COST_KINDS; 0: one
    integer(c_int) :: nkinds = 0
    !> [nkinds] seconds per unit of each kind, > 0; only the ratios matter; NULL: equal
    type(c_ptr) :: nominal = c_null_ptr
    !> bit k: every rank that shares an owner repeats its work of kind k
    integer(c_int) :: once = 0
    !> phases of an exchange, for `trace`: see eqp_evaluation_create()
    integer(c_int) :: nphases = 0
    !> [nphases] see eqp_evaluation_create(); NULL without phases
    type(c_ptr) :: back = c_null_ptr
    !> [nphases] see eqp_evaluation_create(); NULL without phases
    type(c_ptr) :: ghosts = c_null_ptr
    !> overhead of a step in addition to work and phases: the calls and handshakes, and costs that hold until
    !! measured (eqp_rank_row.busy_seconds); NULL: unknown (copied)
    type(c_ptr) :: overhead = c_null_ptr
    !> memory model of a rank with a capacity (balancer.h), without the memory for making maps; NULL: the
    !! bytes of its owners (copied)
    type(c_ptr) :: memory = c_null_ptr
    !> cost to each part of dividing a cell of the octree of keys (more/curve.h) into one part more than
    !! necessary, since every part learns the homes of such cells' owners; in units of the cost of a missing
    !! pin, >= 0. `hypergraph` then keeps owners of a cell together. 0: no cost, and keys may be arbitrary
    real(c_double) :: branch = 0
    !> the code's own methods; NULL: none. `assign` below runs rows without `assign`
    type(c_ptr) :: own = c_null_ptr
    !> whole owners may live on another rank than the one that computes them: `homes=curve` and `maps=phase`
    !! (balance.h) are possible, and `auto` tries `maps=phase`
    logical(c_bool) :: apart = .false.
    !> the totals of the last survey predict the contents needed in the next one: with work units, one survey
    !! then suffices instead of two
    logical(c_bool) :: estimates = .false.
    type(c_funptr) :: cycle = c_null_funptr
    type(c_funptr) :: turn = c_null_funptr
    type(c_funptr) :: survey = c_null_funptr
    type(c_funptr) :: open = c_null_funptr
    type(c_funptr) :: close = c_null_funptr
    type(c_funptr) :: aspect = c_null_funptr
    type(c_funptr) :: base = c_null_funptr
    type(c_funptr) :: trace = c_null_funptr
    type(c_funptr) :: assign = c_null_funptr
    type(c_funptr) :: advance = c_null_funptr
    type(c_funptr) :: label = c_null_funptr
    !> number of granularities of the owners: finer ones balance better, coarser ones cost less. The first is
    !! number 0. 0 or 1: one granularity, and `grain` is not called
    integer(c_int) :: ngrains = 0
    type(c_funptr) :: grain = c_null_funptr
  end type eqp_problem

  type, bind(c) :: eqp_owner
    !> position along a space-filling curve: close owners have close keys
    integer(c_int64_t) :: key = 0
    !> identifies the owner, together with the key
    integer(c_int64_t) :: id = 0
    !> id by which other owners' pins refer to it; -1: they use other ids
    integer(c_int64_t) :: pin = 0
    !> number of its particles
    integer(c_int32_t) :: particles = 0
    !> rank on which it lives
    integer(c_int32_t) :: home = 0
    !> its number on that rank: 0 to owners that live there - 1
    integer(c_int64_t) :: at_home = 0
    !> bytes that move with it
    integer(c_int64_t) :: bytes = 0
    !> its tag in the present map, see problem.h; without a map: its home
    integer(c_int64_t) :: tag = 0
    !> its label, if labels were given (problem.h); 0: none
    integer(c_int64_t) :: label = 0
    !> position
    real(c_double) :: centre(3) = 0
    !> work of each kind: this rank's work for it in a full cycle (survey.h)
    integer(c_int64_t) :: count(8) = 0
    !> number of its tiles, plus one for work outside all tiles
    integer(c_int64_t) :: interactions = 0
    !> set by eqp_survey_add_owner()
    integer(c_int64_t) :: npins = 0
    !> set by eqp_survey_add_owner()
    integer(c_int64_t) :: ntiles = 0
  end type eqp_owner

  type, bind(c) :: eqp_tile
    !> measured from the owner's centre
    real(c_double) :: centroid(3) = 0
    !> nanoseconds: eqp_survey_weigh() of its work
    real(c_double) :: weight = 0
    !> ids that it touches; -1: none, or not below eqp_survey_pin_below()
    integer(c_int64_t) :: pin(2) = 0
  end type eqp_tile

  type, bind(c) :: eqp_placement
    !> tag of the owner, as described above
    integer(c_int64_t) :: tag = 0
    !> rank, or part: the one that computes it, or one of the ranks that share it
    integer(c_int) :: home = 0
  end type eqp_placement

  type, bind(c) :: eqp_policy_options
    !> size of this struct in the caller's version: set by eqp_policy_options_defaults()
    integer(c_size_t) :: size = 0
    !> policy for renewing the map
    integer(c_int) :: mode = 0
    !> steps between maps, >= 1; for EQP_POLICY_EVERY
    integer(c_int64_t) :: every = 0
    !> auto: acceptable imbalance, a fraction, >= 0
    real(c_double) :: imbalance_tol = 0
    !> auto: number of first steps with a new map of which the best shows the imbalance that the method can
    !! reach; several steps filter out a single slow one, >= 1
    integer(c_int) :: settle = 0
    !> auto: renew the map at any cost if the work imbalance exceeds the prediction by more than this, for
    !! work that shifts suddenly. >= 0, INFINITY: never
    real(c_double) :: jump = 0
    !> auto, gain: probability per step that noise of the measured seconds alone causes a new map: from 0,
    !! exclusive, to 1, which ignores noise; 1e-4
    real(c_double) :: false_alarms = 0
  end type eqp_policy_options

  type, bind(c) :: eqp_share_options
    !> source of the shares
    integer(c_int) :: kind = 0
    !> for EQP_SHARE_MODEL (borrowed), such as eqp_speeds_model(); else NULL
    type(c_ptr) :: model = c_null_ptr
    !> for EQP_SHARE_SPEEDS, a divisor of the number of ranks; else 0
    integer(c_int) :: nspeeds = 0
    !> [nspeeds] relative speeds > 0, mean 1, repeated over the ranks; NULL without
    type(c_ptr) :: speed = c_null_ptr
  end type eqp_share_options

  type, bind(c) :: eqp_exchange_plan
    !> stages of blocks that are not broadcast
    integer(c_int) :: stages = 0
    !> blocks needed by more than parts / broadcast other parts go to all; 0: no broadcast
    integer(c_int) :: broadcast = 0
    !> number of parts that share memory and receive a block once; 1: no sharing
    integer(c_int) :: node = 0
  end type eqp_exchange_plan

  type, bind(c) :: eqp_network
    !> seconds per message, >= 0
    real(c_double) :: alpha = 0
    !> seconds per byte, >= 0
    real(c_double) :: beta = 0
    !> parts that share memory, >= 1
    integer(c_int) :: node = 0
    !> seconds per level of an allreduce of a few bytes, ceil(log2 P) levels; 0: as alpha
    real(c_double) :: reduce = 0
    !> seconds per level of an allgather, ceil(log2 P) levels; 0: as alpha
    real(c_double) :: gather = 0
    !> seconds per byte that a part receives in an allgather; 0: as beta
    real(c_double) :: gather_byte = 0
  end type eqp_network

  type, bind(c) :: eqp_clock
    !> may be called by any thread that calls the library; NULL: default clock
    type(c_funptr) :: seconds = c_null_funptr
    !> passed to `seconds` (borrowed)
    type(c_ptr) :: user = c_null_ptr
  end type eqp_clock

  type, bind(c) :: eqp_capacities
    !> a divisor of the number of ranks (in a comparison: any number); 0: none
    integer(c_int) :: n = 0
    !> [n] finite, > 0, repeated over the ranks; NULL without
    type(c_ptr) :: bytes = c_null_ptr
    !> > 0: each rank's capacity as a multiple of the mean need; only with n = 0
    real(c_double) :: of_mean = 0
  end type eqp_capacities

  type, bind(c) :: eqp_balancer_options
    !> set by eqp_balancer_options_init()
    integer(c_size_t) :: size = 0
    !> eqp_choice_parse(); `auto`
    type(eqp_choice) :: method
    !> target imbalance, >= 0; 0.02
    real(c_double) :: imbalance_tol = 0
    !> target imbalance of a new map, to leave room for ageing; 0: imbalance_tol
    real(c_double) :: fresh_tol = 0
    !> imbalance at which the assignment of work units may stop; 0: fresh_tol
    real(c_double) :: assign_tol = 0
    !> seed of all random choices
    integer(c_int64_t) :: seed = 0
    !> when a map is renewed
    type(eqp_policy_options) :: policy
    !> each rank's share of the work (its speeds are borrowed)
    type(eqp_share_options) :: share
    !> true: use the cheapest exchange plan for each map; false: use `plan`
    logical(c_bool) :: plan_auto = .false.
    !> exchange plan without plan_auto
    type(eqp_exchange_plan) :: plan
    !> message costs
    type(eqp_network) :: network
    !> measure message costs before comparing maps
    logical(c_bool) :: network_measure = .false.
    !> if measured loads of ranks deviate from the model, scale the weights by the measurement when a map is
    !! made; default true. Not used with measured shares, nor in maps that are tried before they are used
    logical(c_bool) :: calibrate = .false.
    !> ranks take work from each other within a step, so measured loads do not describe the map
    logical(c_bool) :: handed_out = .false.
    !> connection to ranks or a thread that make maps during the run (more/lazy.h), for the ranks of this
    !! balancer; the code's owners must then carry labels (problem.h). NULL: none (borrowed)
    type(c_ptr) :: lazy = c_null_ptr
    !> use the problem's nominal costs instead of measured ones: maps of the same state are then the same in
    !! every run, on any machine and any number of measuring ranks
    logical(c_bool) :: fixed_costs = .false.
    !> clock for the cost of trying a map, which `auto` weighs against steps; useful if the problem's
    !! functions run on a device. Default: CPU seconds of the calling thread. Ranks may use different clocks.
    !! The caller measures all other seconds, with any clock
    type(eqp_clock) :: clock
    !> memory of the ranks (copied but for its array, which is borrowed)
    type(eqp_capacities) :: capacities
  end type eqp_balancer_options

  type, bind(c) :: eqp_advice
    !> action taken on the map
    integer(c_int) :: action = 0
    !> true if owners must move
    logical(c_bool) :: changed = .false.
    !> [owners that live here] by at_home, if changed, else NULL; borrowed until the next call
    type(c_ptr) :: placement = c_null_ptr
    !> owners that live here, if changed, else 0
    integer(c_int64_t) :: nplacements = 0
    !> bytes that this rank sent to make the map
    integer(c_int64_t) :: bytes = 0
  end type eqp_advice

  type, bind(c) :: eqp_rank_row
    !> CPU seconds in forces
    real(c_double) :: load = 0
    !> set by the balancer: seconds of the same work by the cost model, at the rank's speed
    real(c_double) :: predicted = 0
    !> set by the balancer: seconds of that work by the cost model, for any rank
    real(c_double) :: work = 0
    !> set by the balancer: seconds of the last evaluation's work, by the costs fitted after this step
    real(c_double) :: next = 0
    !> set by the balancer: relative speed that the present map is based on
    real(c_double) :: speed = 0
    !> particles on the rank
    real(c_double) :: particles = 0
    !> particles for which it computed forces
    real(c_double) :: targets = 0
    !> interactions that it computed
    real(c_double) :: interactions = 0
    !> pieces of other ranks' loops that it computed
    real(c_double) :: helped = 0
    !> remote particles and cells that it needed
    real(c_double) :: ghosts = 0
    !> bytes that it sent
    real(c_double) :: bytes_sent = 0
    !> part of bytes_sent: owners, or particles, on the way to new homes
    real(c_double) :: bytes_moved = 0
    !> in the last evaluation of the forces, by the exchange plan, counted as eqp_exchange_count() does: the
    !! number that a comparison predicts
    real(c_double) :: last_messages_sent = 0
    !> in the last evaluation
    real(c_double) :: last_messages_received = 0
    !> in the last evaluation
    real(c_double) :: last_bytes_sent = 0
    !> in the last evaluation
    real(c_double) :: last_bytes_received = 0
    !> owners, or particles, that left it
    real(c_double) :: migrated = 0
    !> CPU seconds in sending the data that forces need, and forces
    real(c_double) :: exchange_seconds = 0
    !> CPU seconds in making a map and moving homes; if 0, the balancer sets it to the seconds it spent in
    !! making maps since the last step
    real(c_double) :: balance_seconds = 0
    !> CPU seconds of the step without balance_seconds and without waiting (eqp_busy_seconds()); 0: unknown
    real(c_double) :: busy_seconds = 0
    !> set by the balancer: predicted busy_seconds minus `predicted`
    real(c_double) :: overhead = 0
    !> set by the balancer: bytes that it needs, as eqp_capacities; 0 without the problem's `memory`
    real(c_double) :: memory = 0
  end type eqp_rank_row

  type, bind(c) :: eqp_work
    !> first member of a struct of doubles; the balancer sets its members there
    type(c_ptr) :: row = c_null_ptr
    !> size of that struct, a multiple of 8; 0: sizeof(eqp_rank_row)
    integer(c_size_t) :: row_bytes = 0
    !> [ranks] gets the rows of all ranks; NULL: not needed
    type(c_ptr) :: rows = c_null_ptr
    !> [kinds] work of the step
    type(c_ptr) :: count = c_null_ptr
    !> [kinds] work of the last of several evaluations in the step; NULL: `count`
    type(c_ptr) :: last = c_null_ptr
    !> force evaluations in this step; 0: one
    integer(c_int64_t) :: evaluations = 0
    !> batches of the work with their seconds, cleared here; NULL: the step is one batch
    type(c_ptr) :: timings = c_null_ptr
    !> true if the caller changed the map by itself before this step
    logical(c_bool) :: moved = .false.
    !> phases if the step is a cycle (survey.h), at most EQP_CYCLE_PHASES, the same on all ranks; 0 and 1: one
    integer(c_int) :: nphases = 0
    !> [nphases] CPU seconds in forces in all turns of each; may be NULL with one
    type(c_ptr) :: phase_load = c_null_ptr
    !> [nphases][kinds] work of all turns of each; may be NULL with one
    type(c_ptr) :: phase_count = c_null_ptr
    !> EQP_OK, or this rank's error in the step: all ranks then return it and record nothing
    integer(c_int) :: code = 0
    !> at most EQP_MEET_SUMS, the same on all ranks
    integer(c_int) :: nsums = 0
    !> at most EQP_MEET_LOWS, the same on all ranks
    integer(c_int) :: nlows = 0
    !> [nsums] in: this rank's values; out: sums over all ranks, bitwise the same on all
    type(c_ptr) :: sum = c_null_ptr
    !> [nlows] in: this rank's values, no NaN; out: minima over all ranks
    type(c_ptr) :: low = c_null_ptr
  end type eqp_work

  type, bind(c) :: eqp_sizes
    !> sizes
    integer(c_int64_t) :: n = 0
    !> of them 0
    integer(c_int64_t) :: zeros = 0
    !> of the sizes
    real(c_double) :: sum = 0
    !> of the sizes
    real(c_double) :: sum_squares = 0
    !> of the natural logarithms of sizes > 0
    real(c_double) :: sum_logs = 0
    !> smallest; 0 for no sizes
    real(c_double) :: min = 0
    !> largest; 0 for no sizes
    real(c_double) :: max = 0
    !> counts of sizes > 0, see eqp_sizes_bin_start()
    integer(c_int64_t) :: bin(256) = 0
  end type eqp_sizes

  type, bind(c) :: eqp_step
    !> set by the caller
    integer(c_int64_t) :: step = 0
    !> set by the caller
    real(c_double) :: time = 0
    !> before the step a new map was computed or the present one was repaired
    logical(c_bool) :: rebalanced = .false.
    !> largest predicted time over the time of an even division, - 1; with several phases, of the sum of the
    !! largest times of the phases
    real(c_double) :: imbalance_predicted = 0
    !> imbalance of measured CPU seconds in forces
    real(c_double) :: imbalance_measured = 0
    !> imbalance that the balancer predicted for the present map when it made it
    real(c_double) :: imbalance_promised = 0
    !> imbalance of the present work, by the cost model
    real(c_double) :: imbalance_work = 0
    !> CPU seconds; with several phases, the sum of the phases' largest loads
    real(c_double) :: load_max = 0
    !> CPU seconds
    real(c_double) :: load_mean = 0
    !> largest of all ranks
    real(c_double) :: exchange_seconds = 0
    !> largest of all ranks
    real(c_double) :: balance_seconds = 0
    !> largest busy_seconds of all ranks; 0 if a rank does not give them
    real(c_double) :: step_measured = 0
    !> largest predicted + overhead of all ranks, scaled by the excess of the busiest rank in earlier steps; 0
    !! if a rank does not give busy_seconds
    real(c_double) :: step_predicted = 0
    !> bytes that a rank needs, as eqp_capacities; 0 without the problem's `memory`
    real(c_double) :: memory_max = 0
    !> largest need of a rank over its capacity; 0 without capacities
    real(c_double) :: memory_use = 0
    !> phases if the step is a cycle; else 1
    integer(c_int) :: nphases = 0
    !> 1 / (1 + imbalance_measured)
    real(c_double) :: cycle_efficiency = 0
    !> imbalance of each phase's CPU seconds in forces, then zeros
    real(c_double) :: phase_measured(16) = 0
    !> imbalance of each phase's predicted times
    real(c_double) :: phase_predicted(16) = 0
    !> sum of the rows
    integer(c_int64_t) :: interactions = 0
    !> items of the present map
    integer(c_int64_t) :: units = 0
    !> owners shared by several ranks
    integer(c_int64_t) :: split_owners = 0
    !> sum of the rows
    integer(c_int64_t) :: migrated = 0
    !> sum of the rows
    integer(c_int64_t) :: ghosts_total = 0
    !> largest of the rows
    integer(c_int64_t) :: ghosts_max = 0
    !> sum of the rows
    integer(c_int64_t) :: bytes_sent = 0
    !> sum of the rows
    integer(c_int64_t) :: bytes_moved = 0
    !> sum of last_bytes_sent of the rows
    integer(c_int64_t) :: bytes_total = 0
    !> largest last_bytes_sent or last_bytes_received of the rows
    integer(c_int64_t) :: bytes_max = 0
    !> largest last_messages_sent or last_messages_received of the rows
    integer(c_int64_t) :: messages_max = 0
    !> loop pieces computed on a rank other than the map's
    integer(c_int64_t) :: handed = 0
    !> largest change of a weight by measured loads when the present map was made, a fraction; 0: none
    real(c_double) :: calibration = 0
    !> rank correlation of predicted and measured seconds of a rank's timed batches, mean over the ranks by
    !! batches
    real(c_double) :: correlation = 0
    !> sizes of the units of the last map that assigned units
    type(eqp_sizes) :: unit_sizes
    !> steps since the survey of the present map: 0 in the first step with a map made before it, more with one
    !! made during the run (more/lazy.h)
    integer(c_int64_t) :: map_age = 0
    !> state of the offer after the step
    integer(c_int) :: lazy = 0
    !> action taken on the map before the step
    integer(c_int) :: action = 0
    !> by `auto`: the method of the present map
    character(kind=c_char) :: chosen(80) = c_null_char
    !> reason for a repair, a new map, or for rejecting a computed map; else empty
    character(kind=c_char) :: why(192) = c_null_char
  end type eqp_step

  type, bind(c) :: eqp_evaluated
    !> seconds, at the parts' speeds
    real(c_double) :: load_max = 0
    !> seconds
    real(c_double) :: load_mean = 0
    !> load_max / load_mean - 1; 0 without load
    real(c_double) :: imbalance = 0
    !> elements of blocks sent in phases with `ghosts`, counted once per part that needs them and is not their
    !! home
    integer(c_int64_t) :: ghosts_total = 0
    !> largest number of ghosts of a part
    integer(c_int64_t) :: ghosts_max = 0
    !> largest number of neighbours of a part: the parts whose blocks it needs or contributes to, or the parts
    !! that do so with its blocks; over all phases, for any plan
    integer(c_int) :: neighbours_max = 0
    !> most messages that a part sends or receives over all phases, allgathers included
    integer(c_int64_t) :: messages_max = 0
    !> bytes sent by all parts
    integer(c_int64_t) :: bytes_total = 0
    !> most bytes that a part sends or receives
    integer(c_int64_t) :: bytes_max = 0
    !> largest over the parts of load + overhead + seconds of all phases and of common data - hidden seconds;
    !! see docs/compare.md
    real(c_double) :: step_seconds = 0
    !> load_mean plus the mean overhead of the elements held
    real(c_double) :: step_seconds_ideal = 0
    !> of the slowest part, which determines step_seconds: its messages and its share of collective calls
    real(c_double) :: exchange_seconds = 0
    !> part of exchange_seconds that overlaps computation and does not lengthen the step
    real(c_double) :: hidden_seconds = 0
    !> CPU seconds of the slowest part in addition to its load
    real(c_double) :: overhead_seconds = 0
    !> largest need of a part in bytes, by eqp_evaluation_memory(); 0 without a model
    real(c_double) :: memory_max = 0
    !> mean need of a part in bytes
    real(c_double) :: memory_mean = 0
    !> largest ratio of a part's need to its capacity: above 1 the map does not fit; 0 without capacities
    real(c_double) :: memory_use = 0
    !> the plan
    type(eqp_exchange_plan) :: plan
  end type eqp_evaluated

  type, bind(c) :: eqp_comparison
    !> methods, >= 1
    integer(c_int) :: nchoices = 0
    !> [nchoices] methods; `auto` chooses from the other methods and its own candidates
    type(c_ptr) :: choice = c_null_ptr
    !> numbers of parts, >= 1
    integer(c_int) :: ncounts = 0
    !> [ncounts] each >= 1, need not equal the number of ranks
    type(c_ptr) :: parts = c_null_ptr
    !> message costs; NULL: as in the options
    type(c_ptr) :: network = c_null_ptr
    !> exchange plan; NULL: the cheapest plan of each map
    type(c_ptr) :: plan = c_null_ptr
    !> declared speeds of the parts, repeated; 0: all equal
    integer(c_int) :: nspeeds = 0
    !> [nspeeds] mean 1; NULL without
    type(c_ptr) :: speed = c_null_ptr
    !> called on all ranks with the rows of each number of parts as soon as they are known; at the end if
    !! there are several granularities; NULL: no call
    type(c_funptr) :: on_rows = c_null_funptr
    type(c_funptr) :: on_map = c_null_funptr
    !> passed to on_rows and on_map
    type(c_ptr) :: user = c_null_ptr
    !> memory of the parts; maps that do not fit are rows with memory_use > 1
    type(eqp_capacities) :: capacities
  end type eqp_comparison

  type, bind(c) :: eqp_cycle_turns
    !> 1 to EQP_CYCLE_PHASES
    integer(c_int) :: n = 0
    !> [n] number of times each phase occurs in a cycle, finite, > 0
    real(c_double) :: times(16) = 0
  end type eqp_cycle_turns

  type, bind(c) :: eqp_cycle
    !> sum over the phases of times x mean load / sum of times x largest load / (nparts x share); 1 without
    !! load
    real(c_double) :: efficiency = 0
    !> largest imbalance of a phase
    real(c_double) :: worst = 0
    !> phase with that imbalance (the lowest if there are several)
    integer(c_int) :: worst_phase = 0
    !> of each phase, 0 for a phase without load, then zeros
    real(c_double) :: imbalance(16) = 0
  end type eqp_cycle

  type, bind(c) :: eqp_compared
    !> method as written (borrowed from the choices)
    type(c_ptr) :: method = c_null_ptr
    !> method chosen by `auto`; "" for any other method
    character(kind=c_char) :: chosen(80) = c_null_char
    !> number of parts
    integer(c_int) :: parts = 0
    !> assigned items
    integer(c_int64_t) :: units = 0
    !> owners shared by several parts
    integer(c_int64_t) :: split_owners = 0
    !> units per interaction; 0: whole owners were assigned
    real(c_double) :: sample_rate = 0
    !> largest CPU seconds of a rank for survey, units, assignment, and the traces that improved the map
    real(c_double) :: balance_seconds = 0
    !> imbalance of the same assignment after the next step; NaN: unknown
    real(c_double) :: imbalance_next = 0
    !> modelled step: eqp_evaluation_cycle() of `phase`
    type(eqp_evaluated) :: evaluated
    !> phases of a cycle; a step is then a cycle
    type(eqp_cycle_turns) :: phases
    !> balance of the loads in the phases
    type(eqp_cycle) :: cycle
    !> [phases.n] one turn of each phase
    type(eqp_evaluated) :: phase(16)
    !> seconds of the next step with the same assignment; NaN: unknown
    real(c_double) :: step_next = 0
    !> granularity of the owners (problem.h) that gives this method its shortest step
    integer(c_int) :: grain = 0
  end type eqp_compared

end module equipoise_types
