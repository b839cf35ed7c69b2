// SPDX-License-Identifier: BSD-3-Clause
// Particles or segments in space, by WebGL 2.

const vertexShader = `#version 300 es
in vec3 position; in vec4 colour; out vec4 shade;
uniform mat3 turn; uniform vec3 centre; uniform vec2 scale; uniform float size;
void main() {
  vec3 p = turn * (position - centre);
  float depth = 1.0 - 0.25 * p.z * scale.y;
  gl_Position = vec4(p.xy * scale, 0.05 * p.z * scale.y, depth);
  gl_PointSize = size / max(depth, 0.2);
  shade = colour;
}`;
const fragmentShader = `#version 300 es
precision mediump float;
in vec4 shade; out vec4 result; uniform bool round;
void main() {
  if (round && length(gl_PointCoord - 0.5) > 0.5) discard;
  result = shade;
}`;

class Space {
  constructor(run, view) {
    this.run = run;
    this.view = view;
    this.canvas = make("canvas", { tabindex: 0, role: "img", "aria-label": `${run.label}: positions by rank`, width: 600, height: 450 });
    this.gl = this.canvas.getContext("webgl2", { antialias: false, alpha: true });
    if (!this.gl) return;
    const gl = this.gl, program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, vertexShader], [gl.FRAGMENT_SHADER, fragmentShader]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.bindAttribLocation(program, 0, "position");
    gl.bindAttribLocation(program, 1, "colour");
    gl.linkProgram(program);
    gl.useProgram(program);
    this.uniform = {};
    for (const name of ["turn", "centre", "scale", "size", "round"]) this.uniform[name] = gl.getUniformLocation(program, name);
    this.buffer = [gl.createBuffer(), gl.createBuffer()];
    gl.enable(gl.DEPTH_TEST);
    this.fit();
    this.listen();
  }

  // A ball around the first frame that leaves some hundredths of it outside: far particles do not make the rest small.
  fit() {
    const p = this.run.frames[0].position, n = p.length / 3, last = Math.max(0, n - 1);
    this.centre = [0, 1, 2].map(d => {
      const sorted = Float32Array.from({ length: n }, (_, i) => p[3 * i + d]).sort();
      return (sorted[Math.floor(0.01 * last)] + sorted[Math.ceil(0.99 * last)]) / 2 || 0;
    });
    const distance = Float32Array.from({ length: n }, (_, i) => Math.hypot(...this.centre.map((c, d) => p[3 * i + d] - c))).sort();
    this.radius = distance[Math.floor(0.98 * last)] || 1;
  }

  listen() {
    const view = this.view;
    let last = null;
    this.canvas.addEventListener("pointerdown", e => { last = [e.clientX, e.clientY]; this.canvas.setPointerCapture(e.pointerId); });
    this.canvas.addEventListener("pointerup", () => { last = null; });
    this.canvas.addEventListener("pointermove", e => {
      if (!last) return;
      view.yaw += (e.clientX - last[0]) / 150;
      view.pitch += (e.clientY - last[1]) / 150;
      last = [e.clientX, e.clientY];
      view.changed();
    });
    this.canvas.addEventListener("wheel", e => {
      e.preventDefault();
      view.zoom *= Math.exp(-e.deltaY / 600);
      view.changed();
    }, { passive: false });
    this.canvas.addEventListener("keydown", e => {
      const act = { ArrowLeft: () => view.yaw -= 0.1, ArrowRight: () => view.yaw += 0.1, ArrowUp: () => view.pitch -= 0.1,
        ArrowDown: () => view.pitch += 0.1, "+": () => view.zoom *= 1.1, "=": () => view.zoom *= 1.1, "-": () => view.zoom /= 1.1,
        Home: () => view.home() }[e.key];
      if (!act) return;
      e.preventDefault();
      act();
      view.changed();
    });
  }

  // Colours of the ranks: their own, or by the largest load of the step.
  palette(step, by) {
    const run = this.run, row = run.row(step) * run.ranks, colours = [];
    let most = 0;
    for (let r = 0; r < run.ranks; r++) most = Math.max(most, run.force[row + r]);
    for (let r = 0; r < run.ranks; r++) colours.push(by === "rank" ? rankColour(r) : heat(run.force[row + r] / most));
    return colours;
  }

  load(step, by) {
    const frame = this.run.frames[this.run.frame(step)], gl = this.gl;
    if (!gl || this.shown === `${frame.step} ${step} ${by}`) return;
    this.shown = `${frame.step} ${step} ${by}`;
    const palette = this.palette(step, by), colour = new Uint8Array(4 * frame.ends * frame.n);
    for (let i = 0; i < frame.n; i++) {
      const c = palette[Math.floor(frame.rank[i] / this.run.group)];
      for (let e = 0; e < frame.ends; e++) colour.set([c[0], c[1], c[2], 255], 4 * (frame.ends * i + e));
    }
    [frame.position, colour].forEach((data, k) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer[k]);
      gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
      gl.enableVertexAttribArray(k);
    });
    this.n = frame.ends * frame.n;
    this.mode = frame.ends === 2 ? gl.LINES : gl.POINTS;
  }

  // Draws every k-th point, as neighbours along the curve are close; all segments are drawn.
  draw(every) {
    const gl = this.gl, view = this.view, canvas = this.canvas;
    if (!gl) return;
    if (this.mode === gl.LINES) every = 1;
    for (let k = 0; k < 2; k++) {
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer[k]);
      gl.vertexAttribPointer(k, k ? 4 : 3, k ? gl.UNSIGNED_BYTE : gl.FLOAT, !!k, (k ? 4 : 12) * every, 0);
    }
    const width = Math.round(canvas.clientWidth * Math.min(devicePixelRatio, 2)), height = Math.round(0.75 * width);
    if (canvas.width !== width && width > 0) { canvas.width = width; canvas.height = height; }
    const [sy, cy, sp, cp] = [Math.sin(view.yaw), Math.cos(view.yaw), Math.sin(view.pitch), Math.cos(view.pitch)];
    const size = 0.92 * view.zoom / this.radius;
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.uniformMatrix3fv(this.uniform.turn, false, [cy, sp * sy, cp * sy, 0, cp, -sp, -sy, sp * cy, cp * cy]);
    gl.uniform3fv(this.uniform.centre, this.centre);
    gl.uniform2f(this.uniform.scale, size * canvas.height / canvas.width, size);
    gl.uniform1f(this.uniform.size, Math.max(1.5, Math.min(6, 0.004 * canvas.height * Math.cbrt(1e4 / this.n)) * Math.sqrt(view.zoom)));
    gl.uniform1i(this.uniform.round, this.mode === gl.POINTS ? 1 : 0);
    gl.drawArrays(this.mode, 0, Math.floor(this.n / every));
  }
}
