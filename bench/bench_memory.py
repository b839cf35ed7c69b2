#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Memory of the gravity app, as CSV: the peak of the largest rank, less what an empty process of the same job holds.

    bench/bench_memory.py BARNESHUT [PARTICLES [RANKS [METHOD...]]]      (2000000, 4, count interaction)

One step of a Plummer sphere, forces twice. A snapshot holds 64 bytes of each particle in doubles: position, velocity,
mass, id. beyond_input is what a process holds per particle on top of those; ratio is what it holds in parts of what a
single rank with the same method does, without and with what both hold when there is nothing to do.
"""
import sys

import runs

INPUT_BYTES = 64


def peak(program, ranks, method, particles):
    """Bytes of the largest rank."""
    return max(runs.report(program, ranks, "--generate", f"plummer:n={particles}", "--steps", "1", "--balance",
                           method)["peak_bytes"])


def main(program, particles=2000000, ranks=4, *methods):
    particles, ranks = int(particles), int(ranks)
    print("method,ranks,particles,input_bytes_per_particle,peak_bytes,empty_bytes,own_bytes,bytes_per_particle,"
          "beyond_input,ratio,ratio_with_empty")
    for method in methods or ("count", "interaction"):
        one = None
        for number in (1, ranks):
            most, empty = peak(program, number, method, particles), peak(program, number, method, number)
            own = most - empty
            one = one or (own, most)
            # Bytes per particle refer to the share of a rank.
            each = own / (particles / number)
            print(f"{method},{number},{particles},{INPUT_BYTES},{most},{empty},{own},{each:.1f},{each - INPUT_BYTES:.1f},"
                  f"{own / one[0]:.3f},{most / one[1]:.3f}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
