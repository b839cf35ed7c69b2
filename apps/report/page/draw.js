// SPDX-License-Identifier: BSD-3-Clause
// Elements, numbers, colours, and charts in SVG.

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
function svg(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function percent(x) { return x === null || x === undefined ? "–" : (100 * x).toFixed(Math.abs(x) < 0.1 ? 2 : 1) + " %"; }
function seconds(x) {
  if (x === null || x === undefined) return "–";
  if (x === 0) return "0 s";
  return x >= 1 ? x.toPrecision(4) + " s" : x >= 1e-3 ? (1e3 * x).toPrecision(4) + " ms" : (1e6 * x).toPrecision(4) + " µs";
}
function count(x) { return x === null || x === undefined ? "–" : x.toLocaleString("en"); }
function bytesText(x) {
  const unit = ["B", "kB", "MB", "GB", "TB", "PB"];
  let k = 0;
  for (; x >= 1000 && k < unit.length - 1; k++) x /= 1000;
  return (k ? x.toPrecision(3) : x) + " " + unit[k];
}
function plural(n, word) { return count(n) + " " + word + (n === 1 ? "" : "s"); }

// A colour for each rank: hues that follow each other by the golden angle, in three lightnesses.
function rankColour(rank) {
  const h = rank * 137.508 % 360, l = [0.5, 0.64, 0.38][rank % 3], s = 0.62;
  const f = n => {
    const k = (n + h / 30) % 12;
    return 255 * (l - s * Math.min(l, 1 - l) * Math.max(-1, Math.min(k - 3, 9 - k, 1)));
  };
  return [f(0), f(8), f(4)];
}

// From dark violet over green to yellow; equal steps look alike, also to those who see few colours.
const ramp = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
function heat(x) {
  const at = 4 * Math.max(0, Math.min(1, x || 0)), i = Math.min(3, Math.floor(at)), t = at - i;
  return ramp[i].map((low, c) => low + t * (ramp[i + 1][c] - low));
}
function css(colour) { return `rgb(${colour.map(Math.round).join()})`; }

// Round numbers from low to high, about n of them.
function ticks(low, high, n) {
  const rough = (high - low) / n || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(k => k * power).find(s => s >= rough);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high * (1 + 1e-9); k++) found.push(k * step || 0);
  return found;
}
function logTicks(low, high) {
  const factors = high / low < 300 ? [1, 2, 5] : [1], found = [];
  for (let e = Math.floor(Math.log10(low)); 10 ** e <= high; e++)
    for (const f of factors) if (f * 10 ** e >= low && f * 10 ** e <= high) found.push(f * 10 ** e);
  return found.length > 1 ? found : [low, high];
}

// Lines over an axis. lines: [{name, colour, dash, points: [[x, y]]}]; y: text of a number; marks: [{x, text}].
function chart(options) {
  const { lines, title, xLabel, xText, yText, logX, logY, marks, now } = options;
  const w = 460, h = 230, left = 58, right = 10, top = 8, bottom = 34;
  const points = lines.flatMap(line => line.points).filter(p => Number.isFinite(p[1]) && (!logY || p[1] > 0));
  const picture = svg("svg", { viewBox: `0 0 ${w} ${h}`, role: "img", "aria-label": title });
  if (!points.length) {
    picture.append(svg("text", { x: left, y: h / 2 }, "nothing to draw"));
    return picture;
  }
  const range = k => [Math.min(...points.map(p => p[k])), Math.max(...points.map(p => p[k]))];
  let [x0, x1] = range(0), [y0, y1] = range(1);
  if (!logY) { y0 = Math.min(0, y0); y1 = Math.max(y1, options.most || 0); }
  if (logY) { y0 /= 1.2; y1 *= 1.2; }
  if (y1 === y0) y1 = y0 + (y0 || 1);
  const scale = (v, a, b, log) => log ? (Math.log(v) - Math.log(a)) / (Math.log(b) - Math.log(a) || 1) : (v - a) / (b - a || 1);
  const X = v => left + (w - left - right) * scale(v, x0, x1, logX);
  const Y = v => h - bottom - (h - top - bottom) * scale(v, y0, y1, logY);
  for (const v of logY ? logTicks(y0, y1) : ticks(y0, y1, 4)) {
    picture.append(svg("line", { class: "grid", x1: left, x2: w - right, y1: Y(v), y2: Y(v) }),
      svg("text", { x: left - 5, y: Y(v) + 4, "text-anchor": "end" }, yText(v)));
  }
  const xs = options.xTicks || ticks(x0, x1, 6);
  for (const v of xs.filter(v => v >= x0 && v <= x1))
    picture.append(svg("text", { x: X(v), y: h - bottom + 15, "text-anchor": "middle" }, xText ? xText(v) : count(v)));
  picture.append(svg("text", { x: w - right, y: h - 4, "text-anchor": "end" }, xLabel));
  for (const mark of marks || []) {
    const line = svg("line", { x1: X(mark.x), x2: X(mark.x), y1: top, y2: h - bottom, stroke: mark.colour || "var(--balance)", "stroke-width": 1.5, opacity: 0.55 });
    line.append(svg("title", {}, mark.text));
    picture.append(line);
  }
  if (now !== undefined && now >= x0 && now <= x1)
    picture.append(svg("line", { class: "now", x1: X(now), x2: X(now), y1: top, y2: h - bottom }));
  for (const line of lines) {
    const known = line.points.filter(p => Number.isFinite(p[1]) && (!logY || p[1] > 0));
    const path = known.map((p, i) => `${i ? "L" : "M"}${X(p[0]).toFixed(1)} ${Y(p[1]).toFixed(1)}`).join("");
    picture.append(svg("path", { d: path, fill: "none", stroke: line.colour, "stroke-width": 2, "stroke-dasharray": line.dash || "none" }));
    if (known.length <= 40)
      for (const p of known) {
        const dot = svg("circle", { cx: X(p[0]), cy: Y(p[1]), r: 3, fill: line.colour });
        dot.append(svg("title", {}, `${line.name}, ${xLabel} ${count(p[0])}: ${yText(p[1])}`));
        picture.append(dot);
      }
  }
  return picture;
}

function legend(element, entries) {
  element.replaceChildren(...entries.map(([name, colour]) => make("span", { style: `--c:${colour}` }, name)));
}

// rows: arrays of cells; a cell: text, or {text, key, value, best, left}.
function table(caption, header, rows) {
  const cell = c => {
    if (typeof c !== "object") return make("td", {}, c);
    const element = make("td", c.key ? { "data-key": c.key, "data-value": c.value } : {}, c.text);
    if (c.best) element.className = "best";
    if (c.left) element.className = "text";
    return element;
  };
  return make("table", {}, make("caption", { class: "note" }, caption),
    make("thead", {}, make("tr", {}, ...header.map(h => make("th", { scope: "col" }, h)))),
    make("tbody", {}, ...rows.map(row => make("tr", {}, ...row.map(cell)))));
}
