# SPDX-License-Identifier: BSD-3-Clause
"""What M. Balasubramaniam's thesis (Mississippi State University, 2003) prints of loops that are handed out: percent of
cost less than that of static chunking, and the number of processors where it was best."""

# The columns of both tables -> methods of ours.
METHODS = {"FSC": "fixed", "GSS": "guided", "FACT": "factoring", "AFACT": "adaptive-factoring",
           "WFACT": "weighted-factoring", "AWF": "awf-b"}

# Table 4.7. F, B, C, S: the hard integrals are at the front, the back, the centre, scattered.
QUADRATURE = """
3780-F  69.49-8p  -0.1-2p   43.65-8p  68.25-8p  67.02-8p  69.78-8p
3780-B  72.03-8p  62.79-16p 63.73-4p  72.95-8p  72.89-8p  69.18-8p
3780-C  68.64-16p 40.07-32p 51.63-16p 65.80-16p 66.76-32p 67.51-16p
3780-S  59.42-16p 23.31-32p 43.86-32p 62.46-16p 60.88-16p 60.94-16p
7560-F  71.97-8p  2.83-32p  47.87-16p 71.70-8p  72.53-16p 73.12-8p
7560-B  74.37-8p  62.66-16p 65.94-4p  73.40-8p  75.27-16p 75.37-16p
7560-C  70.64-16p 40.96-32p 52.22-16p 70.27-16p 72.08-16p 72.71-16p
7560-S  69.45-16p 21.80-16p 44.32-32p 69.20-16p 63.13-32p 69.44-16p
15120-F 74.96-8p  5.84-32p  49.21-16p 72.42-8p  73.99-16p 73.02-16p
15120-B 76.47-16p 63.99-16p 52.23-8p  74.42-8p  70.53-32p 72.59-16p
15120-C 74.38-16p 41.72-32p 53.01-16p 72.23-32p 69.02-32p 68.98-24p
15120-S 73.36-24p 22.93-16p 51.55-24p 70.68-24p 65.02-32p 68.41-16p
"""

# Table 4.4. u, c, g: uniform, corner, Gaussian.
NBODY = """
u20k  0.99-16p  2.97-16p  3.03-4p   3.03-4p   3.03-4p   3.03-4p
u50k  3.51-16p  7.66-16p  4.15-16p  6.07-16p  5.43-16p  8.30-16p
u100k 10.55-32p 11.90-32p 8.54-32p  15.13-32p 8.87-32p  10.69-16p
c20k  43.92-8p  5.71-16p  45.79-8p  33.71-16p 45.79-8p  46.72-8p
c50k  49.87-16p 13.46-16p 50.99-16p 37.26-32p 51.60-8p  51.09-8p
c100k 52.59-16p 26.55-32p 51.65-16p 44.49-32p 52.18-8p  51.59-8p
g20k  70.05-8p  7.18-16p  46.01-16p 62.33-16p 59.02-16p 62.52-16p
g50k  74.32-8p  11.43-16p 49.82-32p 74.98-8p  70.26-16p 74.53-8p
g100k 74.02-8p  18.46-32p 49.41-32p 74.02-8p  71.30-16p 74.37-8p
"""


def table(text):
    """{set: {column: (percent, processors)}}"""
    read = {}
    for line in text.split("\n"):
        name, *cells = line.split() or [""]
        if name:
            pairs = (cell[:-1].rsplit("-", 1) for cell in cells)
            read[name] = {column: (float(percent), int(procs)) for column, (percent, procs) in zip(METHODS, pairs)}
    return read
