# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of the studies: panels of lines and points side by side, as SVG."""
import html
import math
import os

# Colors for the color-blind (Okabe and Ito).
COLORS = ["#999999", "#d55e00", "#009e73", "#0072b2", "#e69f00", "#cc79a7", "#56b4e9", "#000000"]
WIDTH, HEIGHT = 470, 330  # of a panel's axes
LEFT, TOP, ROW = 66, 34, 19  # margins; height of a legend's row


def series(label, points, color=0, dash=False, mark=True, line=True):
    """points: [x, y] or [x, y, low, high]."""
    return {"label": label, "points": [[float(v) for v in p] for p in points], "color": COLORS[color % len(COLORS)],
            "dash": dash, "mark": mark, "line": line}


def panel(lines, x, y, title="", log="", start=None, names=None):
    """log: axes, such as "xy". start: where the axis of y begins. names: texts instead of the numbers 0, 1, ... of x."""
    return {"lines": [one for one in lines if one["points"]], "x": x, "y": y, "title": title, "log": log, "start": start,
            "names": names}


def ticks(low, high, log):
    if log:
        base = 2 if high / low < 300 else 10
        powers = [float(base) ** n for n in range(math.floor(math.log(low, base)), math.ceil(math.log(high, base)) + 1)]
        return [power for power in powers if low <= power * (1 + 1e-9) and power <= high * (1 + 1e-9)]
    unit = 10 ** math.floor(math.log10((high - low) / 4))
    step = next(unit * f for f in (1, 2, 5, 10) if (high - low) / (unit * f) <= 7)
    return [n * step for n in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def axis(values, log, start=None):
    """(least, largest, function to 0 .. 1) of an axis."""
    values = [value for value in values if not log or value > 0]
    low, high = min(values) if start is None else start, max(values)
    if log:
        low, high = low / 1.1, high * 1.1
        return low, high, lambda v: math.log(max(v, low) / low) / math.log(high / low)
    high = high if high > low else low + 1
    margin = 0.03 * (high - low)
    low, high = low if start is not None else low - margin, high + margin
    return low, high, lambda v: (v - low) / (high - low)


def below(one):
    """Height of the numbers, or names, and of the label of x."""
    return 34 + 4.6 * max(map(len, one["names"])) if one["names"] else 58


def words(x, y, text, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{html.escape(text)}</text>'


def draw_axes(one, to_x, to_y, x_range, y_range):
    out = []
    for value in ticks(*y_range, "y" in one["log"]):
        out += [f'<path class="grid" d="M0 {to_y(value):.1f}h{WIDTH}"/>', words(-6, to_y(value) + 4, f"{value:g}", 'class="end"')]
    numbers = range(len(one["names"])) if one["names"] else ticks(*x_range, "x" in one["log"])
    for value in numbers:
        at = to_x(value)
        text = one["names"][value] if one["names"] else f"{value:g}"
        more = f'class="end" transform="rotate(-35 {at:.1f} {HEIGHT + 16})"' if one["names"] else 'class="middle"'
        out += [f'<path class="axis" d="M{at:.1f} {HEIGHT}v4"/>', words(at, HEIGHT + 18, text, more)]
    return out + [f'<path class="axis" d="M0 0V{HEIGHT}H{WIDTH}"/>', words(WIDTH / 2, -12, one["title"], 'class="middle"'),
                  words(WIDTH / 2, HEIGHT + 42, one["x"], 'class="middle"'),
                  words(0, 0, one["y"], f'class="middle" transform="translate(-50 {HEIGHT / 2}) rotate(-90)"')]


def draw_line(line, x, y, to_x, to_y):
    """A line with its marks, and its place in the legend."""
    style = f'stroke="{line["color"]}"' + (' stroke-dasharray="6 4"' if line["dash"] else "")
    spots = [(to_x(p[0]), to_y(p[1]), p) for p in line["points"]]
    out = []
    if line["line"]:
        out.append(f'<path class="line" {style} d="M' + "L".join(f"{x:.1f} {y:.1f}" for x, y, _ in spots) + '"/>')
    for at, height, point in spots:
        if line["mark"]:
            out.append(f'<circle cx="{at:.1f}" cy="{height:.1f}" r="3" fill="{line["color"]}"/>')
        if len(point) == 4:
            out.append(f'<path class="line" {style} d="M{at:.1f} {to_y(point[2]):.1f}V{to_y(point[3]):.1f}"/>')
    sample = f'<path class="line" {style} d="M{x} {y}h22"/>' if line["line"] else f'<circle cx="{x + 11}" cy="{y}" r="3" fill="{line["color"]}"/>'
    return out + [sample, words(x + 28, y + 4, line["label"])]


def draw_panel(one):
    points = [point for line in one["lines"] for point in line["points"]]
    xs = [p[0] for p in points] if not one["names"] else [-0.5, len(one["names"]) - 0.5]
    *x_range, of_x = axis(xs, "x" in one["log"])
    *y_range, of_y = axis([v for p in points for v in p[1:]], "y" in one["log"], one["start"])
    to_x, to_y = lambda v: WIDTH * of_x(v), lambda v: HEIGHT * (1 - min(1, max(0, of_y(v))))
    out = draw_axes(one, to_x, to_y, x_range, y_range)
    for place, line in enumerate(one["lines"]):
        out += draw_line(line, WIDTH / 2 * (place % 2), HEIGHT + below(one) + ROW * (place // 2), to_x, to_y)
    return out


def draw(run, name, panels, columns=3):
    """Writes NAME.svg."""
    across = LEFT + WIDTH + 20
    down = TOP + HEIGHT + max(below(one) - ROW * (-len(one["lines"]) // 2) for one in panels)
    columns = min(columns, len(panels))
    size = f"{columns * across} {-(-len(panels) // columns) * down:g}"
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" font-family="sans-serif" font-size="13">',
           "<style>.grid{stroke:#d0d0d0;stroke-width:.5} .axis{stroke:#404040;fill:none} .line{fill:none;stroke-width:2}"
           " .end{text-anchor:end} .middle{text-anchor:middle}</style>", '<rect width="100%" height="100%" fill="white"/>']
    for i, one in enumerate(panels):
        out += [f'<g transform="translate({LEFT + i % columns * across} {TOP + i // columns * down:g})">', *draw_panel(one), "</g>"]
    with open(os.path.join(run.output, name + ".svg"), "w", encoding="utf-8") as file:
        file.write("\n".join(out + ["</svg>"]) + "\n")
