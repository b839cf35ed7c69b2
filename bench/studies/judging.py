# SPDX-License-Identifier: BSD-3-Clause
"""Errors of load models (Pearce 2014, section 3.4.1): imbalance, kurtosis, order of the parts, and the steps of Algorithm
5, corrected, that a model's loads take to an imbalance of 12 %, the thesis' for ddcMD."""
import math

THRESHOLD = 0.12
STEPS = 10000


def mean(values):
    return sum(values) / len(values)


def root_mean_square(values):
    return math.sqrt(mean([value * value for value in values]))


def imbalance(loads):
    return max(loads) / mean(loads) - 1 if mean(loads) > 0 else 0.0


def kurtosis(loads):
    centre = mean(loads)
    variance = mean([(load - centre) ** 2 for load in loads])
    return mean([(load - centre) ** 4 for load in loads]) / variance ** 2 - 3 if max(loads) > min(loads) else 0.0


def ranks(values):
    """Places in ascending order; equal values share the mean of their places."""
    return [sum(other < value for other in values) + (1 + sum(other == value for other in values)) / 2 for value in values]


def rank_correlation(model, measured):
    a, b = ([rank - mean(some) for rank in some] for some in (ranks(model), ranks(measured)))
    aa, bb, ab = (sum(x * y for x, y in zip(*pair)) for pair in ((a, a), (b, b), (a, b)))
    if aa == 0 or bb == 0:
        return 0.0
    return min(1.0, max(-1.0, ab / math.sqrt(aa) / math.sqrt(bb)))


def diffusion_steps(loads, neighbours):
    """Steps with an imbalance above THRESHOLD, or -1 where STEPS are too few. neighbours: a set for each part."""
    loads, rate, average = list(loads), 1 / (1 + max(map(len, neighbours))), mean(loads)
    for step in range(STEPS):
        if imbalance(loads) <= THRESHOLD:
            return step
        change = [rate * sum(loads[q] - load for q in of) for load, of in zip(loads, neighbours)]
        if all(abs(by) <= 1e-15 * average for by in change):
            return -1
        loads = [load + by for load, by in zip(loads, change)]
    return -1


def judge(runs, models):
    """Rows of each run and model, and of the errors of each model by number of parts and over all (parts 0). runs: {name:
    a row for each part, with neighbours, measured and the models' loads}."""
    rows, found = [], {}
    for name, parts in runs.items():
        loads = {key: [float(part[key]) for part in parts] for key in ("measured", *models)}
        neighbours = [set() for _ in parts]
        for p, part in enumerate(parts):
            for q in map(int, part["neighbours"].split()):
                if q != p:
                    neighbours[p].add(q)
                    neighbours[q].add(p)
        found[name] = {key: {"parts": len(parts), "imbalance": imbalance(some), "kurtosis": kurtosis(some),
                             "rank": rank_correlation(some, loads["measured"]), "steps": diffusion_steps(some, neighbours)}
                       for key, some in loads.items()}
        for model, of in found[name].items():
            rows.append({"kind": "run", "run": name, "parts": len(parts), "model": model, "imbalance": f"{of['imbalance']:.4f}",
                         "bias": "", "kurtosis": f"{of['kurtosis']:.4f}", "rank": f"{of['rank']:.4f}", "steps": of["steps"]})
    for model in models:
        for nparts in [*sorted({len(parts) for parts in runs.values()}), 0]:
            pairs = [(of[model], of["measured"]) for of in found.values() if nparts in (0, of["measured"]["parts"])]
            differ = {key: [a[key] - b[key] for a, b in pairs] for key in ("imbalance", "kurtosis")}
            steps = [a["steps"] - b["steps"] for a, b in pairs if a["steps"] >= 0 and b["steps"] >= 0]
            rows.append({"kind": "error", "run": len(pairs), "parts": nparts, "model": model,
                         "imbalance": f"{root_mean_square(differ['imbalance']):.4f}", "bias": f"{mean(differ['imbalance']):.4f}",
                         "kurtosis": f"{root_mean_square(differ['kurtosis']):.4f}",
                         "rank": f"{root_mean_square([1 - a['rank'] for a, _ in pairs]):.4f}",
                         "steps": f"{root_mean_square(steps):.2f}" if steps else "nan"})
    return rows
