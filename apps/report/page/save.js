// SPDX-License-Identifier: BSD-3-Clause
// A panel as a file: its title, its picture and the legend of its section, as SVG or, drawn from that, as PNG.

const shownAs = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-family", "text-anchor"];

// A copy of a chart that looks the same without the page's style sheet.
function copyOf(picture) {
  const copy = picture.cloneNode(true), from = [picture, ...picture.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, i) => {
    const style = getComputedStyle(from[i]);
    for (const name of shownAs) element.setAttribute(name, style.getPropertyValue(name));
  });
  return copy;
}

function imageOf(canvas) {
  return svg("image", { href: canvas.toDataURL("image/png"), width: canvas.width, height: canvas.height,
    style: "image-rendering: pixelated" });
}

// [name, colour] of the legend above the panels.
function legendOf(panel) {
  const above = panel.parentElement.previousElementSibling;
  return above && above.classList.contains("legend") ? [...above.children].map(entry =>
    [entry.textContent, getComputedStyle(entry, "::before").backgroundColor]) : [];
}

function pictureOf(panel) {
  const picture = panel.querySelector("svg, canvas"), style = getComputedStyle(panel), isChart = picture.localName === "svg";
  const [w, h] = isChart ? picture.viewBox.baseVal && [picture.viewBox.baseVal.width, picture.viewBox.baseVal.height] :
    [picture.width, picture.height];
  const unit = Math.max(1, w / 460), line = 16 * unit, words = { fill: style.color, "font-family": "sans-serif", "font-size": 12 * unit };
  const inner = isChart ? copyOf(picture) : imageOf(picture), entries = [];
  let x = 4 * unit, y = 1.7 * line + h;
  for (const [name, colour] of legendOf(panel)) {
    const width = (7 * name.length + 24) * unit;
    if (x + width > w && x > 4 * unit) { x = 4 * unit; y += line; }
    entries.push(svg("rect", { x, y, width: 10 * unit, height: 10 * unit, fill: colour }),
      svg("text", { ...words, x: x + 14 * unit, y: y + 9 * unit }, name));
    x += width;
  }
  const height = y + (entries.length ? line : 0);
  for (const [name, value] of [["y", 1.4 * line], ["width", w], ["height", h]]) inner.setAttribute(name, value);
  return svg("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${w} ${height}`, width: w, height },
    svg("rect", { width: w, height, fill: style.backgroundColor }),
    svg("text", { ...words, x: 4 * unit, y: line, "font-weight": 600 }, panel.querySelector("figcaption").firstChild.textContent),
    inner, ...entries);
}

function svgFile(panel) {
  return new Blob([new XMLSerializer().serializeToString(pictureOf(panel))], { type: "image/svg+xml" });
}

// Twice as large as the page shows charts.
async function pngFile(panel) {
  const image = new Image(), address = URL.createObjectURL(svgFile(panel));
  try {
    await new Promise((resolve, reject) => { image.onload = resolve; image.onerror = reject; image.src = address; });
    const k = Math.max(1, 920 / image.width), canvas = make("canvas", { width: k * image.width, height: k * image.height });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise(resolve => canvas.toBlob(resolve, "image/png"));
  } finally {
    URL.revokeObjectURL(address);
  }
}

function saveButtons(name) {
  return [["SVG", svgFile], ["PNG", pngFile]].map(([kind, file]) => {
    const button = make("button", { type: "button", class: "save", "aria-label": `Save ${name} as ${kind}` }, kind);
    button.addEventListener("click", async () => {
      window.equipoise.view.drawSpaces();
      const link = make("a", { href: URL.createObjectURL(await file(button.closest("figure"))),
        download: name.replace(/[^\p{L}\p{N}]+/gu, "-").toLowerCase() + "." + kind.toLowerCase() });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
    return button;
  });
}

// A picture with its title, which may be saved under its name.
function figure(title, picture, ...more) {
  const drawn = typeof picture !== "string";
  return make("figure", {}, make("figcaption", {}, title, ...(drawn ? saveButtons(picture.getAttribute("aria-label")) : [])),
    picture, ...more);
}
