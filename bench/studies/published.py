# SPDX-License-Identifier: BSD-3-Clause
"""The only numbers of the studies that are typed in: what O. Pearce, Load Balancing Scientific Applications (2014),
prints, with the figure that prints it. Rates are units per interaction."""

SOURCE = "O. Pearce, *Load Balancing Scientific Applications*, 2014"

# Figures 4.4 and 4.7: (figure, what interacts, strategy, rate or None where the figure does not say, largest unit).
LARGEST_UNIT = [
    ("4.4a", "barneshut", "random", None, 2660),
    ("4.4b", "barneshut", "particle", None, 2190),
    ("4.4c", "barneshut", "adaptive", None, 1380),
    ("4.7a", "network", "particle", 0.0011, 5615),
    ("4.7b", "network", "adaptive", 0.0012, 2807),
    ("4.7c", "network", "adaptive", 0.0017, 1885),
]

# Section 4.3.1: particles of the Barnes-Hut problem (32K), and 547M interactions of 1M particles.
PARTICLES = 32768
PER_PARTICLE = 547

# Figure 4.6b: seconds in all of the Barnes-Hut run, by rate and number of processes; None: the code's own balancer,
# equal numbers of particles along a space-filling curve.
PROCESSES = [128, 256, 512, 1024, 2048]
TOTAL_SECONDS = {
    0.001: [101.64, 51.26, 26.29, 13.21, 7.95],
    0.002: [92.78, 47.27, 24.62, 13.14, 7.49],
    0.004: [86.13, 43.62, 22.67, 12.06, 6.88],
    0.008: [79.08, 39.60, 20.36, 10.78, 6.28],
    0.016: [80.08, 40.31, 20.86, 11.01, 6.62],
    None: [107.04, 54.01, 27.55, 14.38, 8.02],
}

# Figure 4.9: the same of ParaDiS with its own balancer (None) and with interactions balanced.
NETWORK_PROCESSES = [*PROCESSES, 4096]
NETWORK_SECONDS = {
    0.0011: [6118.71, 3061.16, 1529.36, 774.96, 405.14, 228.51],
    0.0012: [6086.44, 3059.56, 1527.47, 788.39, 408.94, 231.51],
    0.0017: [6089.01, 3056.97, 1536.31, 780.96, 405.07, 220.05],
    0.006: [6126.13, 3064.07, 1560.99, 792.21, 413.34, 231.80],
    None: [6482.01, 3271.84, 1647.85, 834.33, 445.09, 269.57],
}

# Section 4.4: improvement of the whole run over the code's own balancer, least and most.
IMPROVEMENT = {"barneshut": (0.23, 0.26), "network": (0.06, 0.18)}

# Table 3.3: root mean square errors over the runs of ddcMD by model: imbalance in points, kurtosis, rank correlation.
MODEL_ERRORS = {"molecules": (15.917, 0.444, 0.138), "barriers": (25.769, 0.079, 0.008), "forces": (16.095, 0.057, 0.007)}

# Section 3.4.1: imbalance at which diffusion stops.
CONVERGED = 0.12

# Section 3.4.2 of the benchmark: part of the cases in which the model is right, in which global is best, the penalty of
# always taking global where it is not best, the penalty of the model's wrong choices; mean gains over doing nothing. The same of
# ddcMD: right.
CHOSEN_RIGHT = 0.87
GLOBAL_BEST = 0.96
GLOBAL_PENALTY = 0.35
WRONG_PENALTY = 0.0543
GAINS = {"model": 0.49, "global": 0.48, "diffusive": 0.03}
CHOSEN_RIGHT_DDCMD = 0.96

# Table 3.4: seconds of 200 steps without balancing, by the diffusive and by the global method; what the model selects.
SCENARIOS = [("a", 226, 212, 248, "diffusive"), ("b", 344, 459, 269, "global"), ("c", 286, 355, 239, "global"),
             ("d", 270, 267, 235, "global")]

# Figure 5.2b, section 5.2.3: part of the particles whose work stays the same, and the largest change of the others in a
# step.
CONSTANT_ELEMENTS = 0.5
ELEMENT_CHANGE = 0.05

# Figures 5.2a and 5.3c, section 5.2.3: how far the total work of Barnes-Hut moves, and the largest imbalance of a
# network with the assignment of its first step.
DRIFT_WORK = 0.05
DRIFT_IMBALANCE = 0.07


def best_improvement(seconds):
    """By column of a table of seconds the best: 1 - time of the best rate / time of the original."""
    rates = [rate for rate in seconds if rate is not None]
    return [1 - min(seconds[rate][i] for rate in rates) / original for i, original in enumerate(seconds[None])]


def improvements():
    """Of figure 4.6, by number of processes."""
    return dict(zip(PROCESSES, best_improvement(TOTAL_SECONDS)))


def network_improvements():
    """Of figure 4.9, by number of processes."""
    return dict(zip(NETWORK_PROCESSES, best_improvement(NETWORK_SECONDS)))
