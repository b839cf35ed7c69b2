// SPDX-License-Identifier: BSD-3-Clause
// The page: sections that are filled from the runs, and one step that all of them show.

const $ = id => document.getElementById(id);
const partsOfStep = [["force", "force"], ["exchange", "exchange"], ["rest", "rest"], ["wait", "waiting"], ["balance", "balancing"]];
const colours = ["#2a78d6", "#eb6834", "#1b9e77", "#7b3fb5", "#b8860b", "#d6336c", "#5f6b76", "#0b7285", "#74b816", "#c92a2a"];

function sum(run, key) { return run.report.totals[key].sum; }
function mean(run, key) { return run.report.totals[key].known ? sum(run, key) / run.report.totals[key].known : null; }
function isComparison(run) { return run.report.compare && run.report.compare.length > 0; }

// A sentence for each run: what uneven loads cost.
function verdictOf(run) {
  const most = sum(run, "force_seconds_max"), even = sum(run, "force_seconds_mean");
  const lost = most > 0 ? 1 - even / most : 0;
  return `${run.label}: forces took ${seconds(most)} of CPU time on the slowest ranks, ${seconds(even)} if all were alike: ` +
    `${percent(lost)} of it was lost. Balancing took ${seconds(sum(run, "balance_seconds"))}.`;
}

function fillSummary(page) {
  const measured = page.runs.filter(run => !isComparison(run));
  const rows = [
    ["app", r => r.report.app], ["ranks", r => count(r.report.ranks)], ["particles", r => count(r.report.particles)],
    ["host", r => r.report.host || "–"], ["date", r => r.report.date || "–"],
  ];
  if (measured.length) rows.splice(3, 0,
    ["method", r => r.report.balance], ["steps", r => count(r.report.totals.steps)],
    ["imbalance measured, mean", r => percent(mean(r, "imbalance_measured"))],
    ["imbalance predicted, mean", r => percent(mean(r, "imbalance_predicted"))],
    ["force, slowest rank, sum", r => seconds(sum(r, "force_seconds_max"))],
    ["force, mean rank, sum", r => seconds(sum(r, "force_seconds_mean"))],
    ["balancing, sum", r => seconds(sum(r, "balance_seconds"))],
    ["ghosts per step", r => count(Math.round(mean(r, "ghosts_total")))],
    ["maps made or repaired", r => count(r.report.totals.maps)]);
  $("verdict").append(...measured.map(run => make("p", {}, verdictOf(run))));
  $("summary").append(table("Seconds are CPU seconds.", ["", ...page.runs.map(r => r.label)],
    rows.map(([name, value]) => [name, ...page.runs.map(run => ({ text: value(run) || "–" }))])));
}

// ---- a rank a row, a step a column ----
function drawTime(run, canvas, quantity, step, most) {
  const context = canvas.getContext("2d"), values = run[quantity];
  const image = new ImageData(run.steps, run.ranks);
  for (let s = 0; s < run.steps; s++)
    for (let r = 0; r < run.ranks; r++)
      image.data.set([...heat(values[s * run.ranks + r] / most), 255], 4 * (r * run.steps + s));
  const small = new OffscreenCanvas(run.steps, run.ranks);
  small.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, 0, 0, canvas.width, canvas.height);
  const x = (run.row(step) + 0.5) * canvas.width / run.steps;
  context.strokeStyle = "#ffffff";
  context.lineWidth = 2;
  context.strokeRect(x - Math.max(2, canvas.width / run.steps / 2), 1, Math.max(4, canvas.width / run.steps), canvas.height - 2);
}

function longestOf(run, step) {
  const row = run.row(step) * run.ranks;
  let most = 0;
  for (let r = 0; r < run.ranks; r++) most = Math.max(most, partsOfStep.reduce((t, [key]) => t + run[key][row + r], 0));
  return most;
}

function drawParts(run, step, most) {
  const row = run.row(step) * run.ranks, w = 460, h = Math.max(60, Math.min(12 * run.ranks, 420)), left = 42;
  const picture = svg("svg", { viewBox: `0 0 ${w} ${h + 18}`, role: "img", "aria-label": `${run.label}: seconds of each rank in step ${step}` });
  for (let r = 0; r < run.ranks; r++) {
    let x = left;
    const tip = partsOfStep.map(([key, name]) => `${name} ${seconds(run[key][row + r])}`).join(", ");
    const bar = svg("g", {}, svg("title", {}, `rank ${r * run.group}: ${tip}`));
    for (const [key] of partsOfStep) {
      const width = most > 0 ? (w - left) * run[key][row + r] / most : 0;
      bar.append(svg("rect", { x, y: h * r / run.ranks, width, height: Math.max(0.8, h / run.ranks - 1), fill: `var(--${key})` }));
      x += width;
    }
    picture.append(bar);
  }
  for (const r of ticks(0, run.ranks - 1, Math.min(8, run.ranks)).filter(Number.isInteger))
    picture.append(svg("text", { x: left - 6, y: h * (r + 0.5) / run.ranks + 4, "text-anchor": "end" }, r * run.group));
  picture.append(svg("text", { x: w, y: h + 14, "text-anchor": "end" }, `${seconds(most)}`));
  return picture;
}

// ---- imbalance ----
function imbalanceChart(run, step, most) {
  const steps = run.report.steps, of = key => steps.map(s => [s.step, s[key]]);
  return chart({ title: `${run.label}: imbalance over the steps${run.report.totals.every > 1 ? `, ${every(run)}` : ""}`, xLabel: "step", yText: v => percent(v), now: step, most,
    lines: [{ name: "predicted", colour: "var(--predicted)", dash: "5 3", points: of("imbalance_predicted") },
      { name: "measured", colour: "var(--measured)", points: of("imbalance_measured") }],
    marks: steps.filter(s => s.rebalanced).map(s => ({ x: s.step, text: `step ${s.step}: ${s.action || "renew"}${s.why ? ", " + s.why : ""}` })) });
}

// Seconds of the steps, and what they would have been with the best schedule of maps; of long runs means of some steps.
function scheduleChart(run, step) {
  const rows = run.schedule, of = k => rows.map(row => [row[0], row[k] / row[1]]);
  return chart({ title: `${run.label}: seconds of the longest rank, and in hindsight`, xLabel: "step", yText: v => seconds(v), now: step,
    lines: [{ name: "as it was", colour: "var(--measured)", points: of(2) },
      { name: "in hindsight", colour: "var(--best)", dash: "5 3", points: of(3) }],
    marks: [...rows.filter(row => row[4]).map(row => ({ x: row[0], text: `step ${row[0]}: a map was made` })),
      ...rows.filter(row => row[5]).map(row => ({ x: row[0], text: `step ${row[0]}: the best schedule makes a map`, colour: "var(--best)" }))] });
}

function hindsightOf(run) {
  const r = run.report;
  if (!Number.isFinite(r.regret)) return `${run.label}: no schedule in hindsight, as there was no step to judge.`;
  return `${run.label}: in hindsight the best schedule would have made ${plural(r.regret_best_maps, "map")} instead of ` +
    `${count(r.regret_run_maps)} and taken ${seconds(r.regret_best_seconds)} instead of ${seconds(r.regret_run_seconds)}: ` +
    `${percent(r.regret)} of the run.`;
}

// ---- traffic ----
function trafficFigure(run) {
  const { ranks, group, bytes } = run.traffic, size = Math.max(ranks, Math.floor(420 / ranks) * ranks);
  const canvas = make("canvas", { class: "matrix", width: size, height: size, role: "img", "aria-label": `${run.label}: bytes from rank to rank` });
  const context = canvas.getContext("2d"), side = size / ranks, most = Math.max(1, ...bytes), tip = make("p", { class: "tip" });
  bytes.forEach((b, i) => {
    context.fillStyle = css(heat(Math.sqrt(b / most)));
    context.fillRect((i % ranks) * side, Math.floor(i / ranks) * side, side, side);
  });
  const tell = (from, to) => { tip.textContent = `from ${from * group} to ${to * group}: ${bytesText(bytes[from * ranks + to])}`; };
  canvas.addEventListener("pointermove", e => {
    const box = canvas.getBoundingClientRect(), at = (v, length) => Math.max(0, Math.min(ranks - 1, Math.floor(ranks * v / length)));
    tell(at(e.clientY - box.top, box.height), at(e.clientX - box.left, box.width));
  });
  const pairs = bytes.map((b, i) => [b, Math.floor(i / ranks), i % ranks]).sort((a, b) => b[0] - a[0]).slice(0, 5);
  const total = bytes.reduce((a, b) => a + b, 0);
  tip.textContent = `${bytesText(total)} in all; the square root is coloured, up to ${bytesText(most)}`;
  return figure(run.label, canvas, tip, make("details", {}, make("summary", {}, "The five largest"),
    table("", ["from", "to", "bytes"], pairs.map(([b, from, to]) => [count(from * group), count(to * group), count(b)]))));
}

// ---- what-if ----
function winnerOf(rows) { return rows.reduce((best, row) => row.step_seconds < best.step_seconds ? row : best); }

// In what the winner differs from the curve, the simplest method that is any good.
function whyOf(rows) {
  const best = winnerOf(rows), curve = rows.find(row => row.method === "sfc");
  const name = best.method === "auto" && best.chosen ? `auto (${best.chosen})` : best.method;
  const head = `At ${plural(best.parts, "part")} ${name} has the shortest step, ${seconds(best.step_seconds)}`;
  if (!curve || curve === best || best.chosen === "sfc") return head + ".";
  const gain = 1 - best.step_seconds / curve.step_seconds;
  if (gain < 0.01) return `${head}; the curve is within 1 % of it and simpler.`;
  const parts = [["uneven loads", row => row.load_max - row.load_mean], ["exchange", row => row.exchange_seconds || 0],
    ["other work and collective calls", row => row.step_seconds - row.load_max - (row.exchange_seconds || 0)]];
  const saved = parts.map(([word, of]) => [of(curve) - of(best), word]).sort((a, b) => b[0] - a[0]);
  return `${head}, ${percent(gain)} less than the curve (sfc), most of it by less ${saved[0][1]}: ` +
    `imbalance ${percent(best.imbalance)} against ${percent(curve.imbalance)}, ` +
    `${count(best.ghosts_total)} ghosts against ${count(curve.ghosts_total)}.`;
}

function fillCompare(page) {
  const compared = page.runs.filter(isComparison);
  $("compare-section").hidden = !compared.length;
  if (compared.length === page.runs.length) document.querySelectorAll(".of-runs").forEach(section => { section.hidden = true; });
  for (const run of compared) {
    const rows = run.report.compare, methods = [...new Set(rows.map(row => row.method))];
    const parts = [...new Set(rows.map(row => row.parts))];
    $("why").append(...parts.map(p => make("p", {}, whyOf(rows.filter(row => row.parts === p)))));
    const lines = key => methods.map((method, i) => ({ name: method, colour: colours[i % colours.length], dash: i >= colours.length ? "5 3" : null,
      points: rows.filter(row => row.method === method).map(row => [row.parts, row[key]]) }));
    legend($("compare-legend"), methods.map((method, i) => [method, colours[i % colours.length]]));
    const ideal = { name: "even, no exchange", colour: "var(--soft)", dash: "2 3", points: parts.map(p => [p, rows.find(row => row.parts === p).step_seconds_ideal]) };
    for (const [title, key, text, more] of [["step", "step_seconds", seconds, [ideal]], ["imbalance", "imbalance", percent, []], ["ghosts", "ghosts_total", count, []]])
      $("compare").append(figure(`${run.label}: ${title}`, chart({ title: `${title} over parts`, xLabel: "parts", yText: text, logX: true,
        logY: true, xTicks: parts, lines: [...lines(key), ...more] })));
    const best = Object.fromEntries(parts.map(p => [p, winnerOf(rows.filter(row => row.parts === p))]));
    $("compare-table").append(table("Modelled seconds of a step; the shortest of each number of parts is bold.",
      ["method", "parts", "step", "imbalance", "imbalance next", "ghosts", "neighbours", "making the map"],
      rows.map(row => [{ text: row.method + (row.chosen ? ` (${row.chosen})` : ""), best: best[row.parts] === row }, count(row.parts),
        { text: seconds(row.step_seconds), key: "step_seconds", value: row.step_seconds, best: best[row.parts] === row },
        { text: percent(row.imbalance), key: "imbalance", value: row.imbalance }, percent(row.imbalance_next),
        { text: count(row.ghosts_total), key: "ghosts_total", value: row.ghosts_total }, count(row.neighbours_max), seconds(row.balance_seconds)])));
  }
}

// ---- numbers ----
function every(run) { return run.report.totals.every > 1 ? `one step of ${run.report.totals.every}, with a new map if there is one` : "every step"; }
function fillNumbers(page) {
  const columns = [["imbalance_predicted", percent], ["imbalance_measured", percent], ["force_seconds_max", seconds],
    ["force_seconds_mean", seconds], ["step_seconds_predicted", seconds], ["step_seconds_measured", seconds],
    ["exchange_seconds_max", seconds], ["balance_seconds", seconds], ["ghosts_total", count], ["bytes_sent", count], ["migrated", count]];
  for (const run of page.runs) {
    const rows = run.report.steps.map(s => [count(s.step), ...columns.map(([key, text]) =>
      ({ text: text(s[key]), key, value: s[key] })), { text: s.action || "", left: true }, { text: s.why || "", left: true }]);
    const body = make("div", { class: "wide" }), details = make("details", {}, make("summary", {}, `${run.label}: ${every(run)}`), body);
    details.addEventListener("toggle", () => {
      if (details.open && !body.firstChild) body.append(table("", ["step", ...columns.map(([key]) => key), "action", "why"], rows));
    });
    $("numbers").append(details, make("p", { class: "note" }, run.report.command || ""));
  }
}

// ---- all of it ----
class View {
  constructor(page) {
    this.page = page;
    this.home();
    this.step = page.runs[0].last();
    this.spaces = page.runs.filter(run => run.frames.length).map(run => new Space(run, this));
    $("space-section").hidden = !this.spaces.length;
    $("space").append(...this.spaces.map(s => figure(s.run.label, s.gl ? s.canvas : "This browser shows no WebGL 2.")));
    this.timeCanvas = page.runs.map(run => make("canvas", { width: 920, height: 320, role: "img", "aria-label": `${run.label}: seconds of each rank in each step` }));
    this.timeTip = page.runs.map(() => make("p", { class: "tip" }));
    $("time").append(...page.runs.map((run, i) => figure(run.label, this.timeCanvas[i], this.timeTip[i])));
    const slider = $("step");
    slider.min = Math.min(...page.runs.map(run => run.first));
    slider.max = Math.max(...page.runs.map(run => run.last()));
    slider.value = this.step;
    slider.addEventListener("input", () => this.select(+slider.value));
    page.runs.forEach((run, i) => this.timeCanvas[i].addEventListener("click", e => {
      const box = this.timeCanvas[i].getBoundingClientRect();
      this.select(run.first + run.every * Math.floor((e.clientX - box.left) / box.width * run.steps));
    }));
    $("colour").addEventListener("change", () => this.changed());
    $("quantity").addEventListener("change", () => this.drawTimes());
    $("play").addEventListener("click", () => this.play());
    $("turn").addEventListener("change", () => this.changed());
    addEventListener("resize", () => this.changed());
  }
  // The first view.
  home() { this.yaw = 0.6; this.pitch = 0.5; this.zoom = 1; }
  changed() {
    if (!this.asked) this.asked = requestAnimationFrame(now => this.drawSpaces(now));
  }
  drawSpaces(now) {
    this.asked = 0;
    if ($("turn").checked) { this.yaw += 0.01; this.changed(); }
    this.pace(now);
    for (const space of this.spaces) { space.load(this.step, $("colour").value); space.draw(this.every); }
    this.drawn = (this.drawn || 0) + 1;
  }
  // While frames follow each other slowly fewer points are drawn, and all of them once nothing moves.
  pace(now) {
    clearTimeout(this.rest);
    const took = now - (this.before || 0);
    this.slow = took > 30 ? (this.slow || 0) + 1 : 0;
    if (!now || took > 300) { this.every = 1; this.slow = 0; }
    else if (this.slow > 5) { this.every = Math.min(2 * this.every, 16); this.slow = 0; }
    this.before = now;
    if (this.every > 1) this.rest = setTimeout(() => { this.before = 0; this.changed(); }, 400);
  }
  drawTimes() {
    const quantity = $("quantity").value;
    const most = this.largest(run => run[quantity].reduce((a, b) => Math.max(a, b), 0));
    this.page.runs.forEach((run, i) => {
      drawTime(run, this.timeCanvas[i], quantity, this.step, most);
      this.timeTip[i].textContent = `ranks ${run.group > 1 ? `in groups of ${run.group}, the largest of each, ` : ""}from top to bottom, ` +
        `${run.every > 1 ? `every ${run.every}th of the ` : ""}steps from left to right; dark 0, bright ${seconds(most)}`;
    });
  }
  // Runs side by side have one scale.
  largest(of) { return Math.max(...this.page.runs.map(of)); }
  select(step) {
    this.step = step;
    const longest = this.largest(run => longestOf(run, step));
    const most = this.largest(run => Math.max(0, ...run.report.steps.map(s => Math.max(s.imbalance_measured || 0, s.imbalance_predicted || 0))));
    $("step").value = step;
    $("step-value").textContent = step;
    this.drawTimes();
    $("parts").replaceChildren(...this.page.runs.map(run => figure(run.label, drawParts(run, step, longest))));
    $("imbalance").replaceChildren(...this.page.runs.map(run => figure(run.label, imbalanceChart(run, step, most))));
    const judged = this.page.runs.filter(run => run.schedule.length > 1);
    $("schedule-box").hidden = !judged.length;
    $("schedule").replaceChildren(...judged.map(run => figure(run.label, scheduleChart(run, step))));
    $("status").textContent = this.page.runs.map(run => {
      const s = run.at(step);
      return s ? `${run.label}, step ${s.step}: imbalance ${percent(s.imbalance_measured)}` : "";
    }).join("; ");
    this.changed();
  }
  play() {
    if (this.timer) { clearInterval(this.timer); this.timer = 0; $("play").textContent = "Play"; return; }
    $("play").textContent = "Stop";
    const last = +$("step").max, first = +$("step").min, every = Math.max(1, Math.round((last - first) / 40));
    this.timer = setInterval(() => this.select(this.step + every > last ? first : this.step + every), 150);
  }
}

function listenTheme() {
  const root = document.documentElement, dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const show = () => { $("theme").textContent = dark() ? "Light" : "Dark"; $("theme").setAttribute("aria-pressed", dark()); };
  $("theme").addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; show(); });
  show();
}

async function start() {
  listenTheme();
  const page = await readPage();
  fillSummary(page);
  legend($("parts-legend"), partsOfStep.map(([key, name]) => [name, `var(--${key})`]));
  legend($("imbalance-legend"), [["predicted", "var(--predicted)"], ["measured", "var(--measured)"], ["map renewed or repaired", "var(--balance)"]]);
  legend($("schedule-legend"), [["as it was", "var(--measured)"], ["in hindsight", "var(--best)"], ["map made", "var(--balance)"], ["map of the best schedule", "var(--best)"]]);
  const view = new View(page);
  view.select(view.step);
  $("hindsight").append(...page.runs.map(run => make("p", {}, hindsightOf(run))));
  const talkers = page.runs.filter(run => run.traffic && run.traffic.bytes.some(b => b > 0));
  if (!talkers.length) $("traffic-section").hidden = true;
  $("traffic").append(...talkers.map(trafficFigure));
  fillCompare(page);
  fillNumbers(page);
  $("footer").textContent = `Equipoise ${page.version}. Loads are CPU seconds. Everything on this page is in report.json, loads.csv, traffic.csv and samples.bin of the run.`;
  window.equipoise = { page, view };
  document.body.dataset.ready = "true";
}
start().catch(error => {
  $("verdict").append(make("p", { role: "alert" }, `This page cannot be shown: ${error.message}`));
  throw error;
});
