// SPDX-License-Identifier: BSD-3-Clause
// The data of the page as arrays.

// Two planes of n bytes: low ones, high ones.
function planes(bytes, at, n) {
  const numbers = new Uint16Array(n);
  for (let i = 0; i < n; i++) numbers[i] = bytes[at + i] | bytes[at + n + i] << 8;
  return numbers;
}

// Differences that were folded into small numbers.
function unfold(numbers, along) {
  let before = 0;
  for (let i = 0; i < numbers.length; i++) {
    const z = numbers[i], difference = z & 1 ? 65535 - (z >> 1) : z >> 1;
    numbers[i] = before + difference;
    if (along) before = numbers[i];
  }
  return numbers;
}

class Frame {
  constructor(json, ends, bytes) {
    Object.assign(this, json);
    const columns = [];
    for (let k = 0; k < 1 + 3 * ends; k++) columns.push(unfold(planes(bytes, json.at + 2 * k * json.n, json.n), k < 4));
    this.rank = columns[0];
    this.ends = ends;
    this.position = new Float32Array(3 * ends * json.n);
    for (let d = 0; d < 3; d++) {
      const scale = (json.high[d] - json.low[d]) / 65535;
      for (let i = 0; i < json.n; i++)
        for (let e = 0; e < ends; e++) {
          // Of a second end the difference from the first is known.
          const number = e ? columns[1 + d][i] + columns[4 + d][i] & 65535 : columns[1 + d][i];
          this.position[3 * (ends * i + e) + d] = json.low[d] + scale * number;
        }
    }
  }
}

class Run {
  constructor(json, bytes) {
    this.label = json.label;
    this.report = json.report;
    this.traffic = json.traffic;
    this.schedule = json.schedule || [];
    const loads = json.loads, n = loads.ranks * loads.steps;
    this.ranks = loads.ranks;
    this.steps = loads.steps;
    this.first = loads.first;
    this.every = loads.every;
    this.group = loads.group;
    const seconds = k => Float32Array.from(planes(bytes, loads.at + 2 * k * n, n), x => x * loads.scale[k] / 65535);
    this.force = seconds(0);
    this.exchange = seconds(1);
    this.busy = seconds(2);
    this.balance = seconds(3);
    this.rest = new Float32Array(n);
    this.wait = new Float32Array(n);
    for (let s = 0; s < loads.steps; s++) {
      let most = 0;
      for (let i = s * loads.ranks; i < (s + 1) * loads.ranks; i++) {
        this.busy[i] = Math.max(this.busy[i], this.force[i] + this.exchange[i]);
        this.rest[i] = Math.max(0, this.busy[i] - this.force[i] - this.exchange[i]);
        most = Math.max(most, this.busy[i]);
      }
      for (let i = s * loads.ranks; i < (s + 1) * loads.ranks; i++) this.wait[i] = most - this.busy[i];
    }
    this.frames = json.samples ? json.samples.frames.map(frame => new Frame(frame, json.samples.ends, bytes)) : [];
  }

  // Row of the tables above for a step of the run, and the frame that was last before it.
  row(step) {
    return Math.max(0, Math.min(this.steps - 1, Math.floor((step - this.first) / this.every)));
  }
  frame(step) {
    let found = 0;
    this.frames.forEach((frame, i) => { if (frame.step <= step) found = i; });
    return found;
  }
  last() { return this.report.steps.length ? this.report.steps[this.report.steps.length - 1].step : 0; }
  // The step, or of a long run the last one before it that is there.
  at(step) { return this.report.steps.findLast(s => s.step <= step) || this.report.steps[0]; }
}

async function readPage() {
  const text = atob(document.getElementById("data").textContent);
  const packed = Uint8Array.from(text, c => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const all = new Uint8Array(await new Response(stream).arrayBuffer());
  const length = new DataView(all.buffer).getUint32(0, true);
  const json = JSON.parse(new TextDecoder().decode(all.subarray(4, 4 + length)));
  const bytes = all.subarray(4 + length);
  return { version: json.version, runs: json.runs.map(run => new Run(run, bytes)) };
}
