#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The page of runs in a browser: no error on its console, every number in its tables is that of report.json, seconds of
ranks are those of loads.csv, samples are those of samples.bin, the keyboard works, and something is drawn.

usage: view_browser.py CHROMEDRIVER CHROMIUM PAGE.html RUN...
"""
import csv
import json
import os
import socket
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
import xml.etree.ElementTree


class Browser:
    """A session of the WebDriver protocol (W3C), without a library."""

    def __init__(self, driver, binary):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen([driver, f"--port={self.port}", "--log-level=SEVERE"], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        for _ in range(300):
            try:
                self.call("GET", "/status")
                break
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        arguments = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--use-angle=swiftshader",
                     "--enable-unsafe-swiftshader", "--window-size=1280,1000"]
        self.session = "/session/" + self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"binary": binary, "args": arguments}}}})["sessionId"]

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", method=method, data=data,
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["value"]

    def run(self, script, *arguments):
        return self.call("POST", self.session + "/execute/sync", {"script": script, "args": list(arguments)})

    def open(self, path):
        self.call("POST", self.session + "/url", {"url": "file://" + os.path.abspath(path)})
        for _ in range(600):
            if self.run("return document.body.dataset.ready === 'true'"):
                return
            time.sleep(0.1)
        raise AssertionError("the page does not get ready: " + str(self.errors()))

    def errors(self):
        return [entry for entry in self.call("POST", self.session + "/se/log", {"type": "browser"})
                if entry["level"] in ("SEVERE", "WARNING") and "GPU stall" not in entry["message"]]

    def close(self):
        try:
            self.call("DELETE", self.session)
        except (AttributeError, urllib.error.URLError):
            pass
        self.process.terminate()
        self.process.wait()


def near(a, b, tolerance):
    return abs(a - b) <= tolerance * max(abs(a), abs(b), 1e-300)


def check_tables(browser, reports):
    """Table cells against the report: the stored number to the last digit, the text to four digits."""
    browser.run("document.querySelectorAll('#numbers details').forEach(d => { d.open = true; })")
    time.sleep(0.3)
    cells = browser.run("""return [...document.querySelectorAll('#numbers table')].map(t => [...t.tBodies[0].rows].map(
        r => [...r.cells].filter(c => c.dataset.key).map(c => [c.dataset.key, c.dataset.value, c.textContent])))""")
    assert len(cells) == len(reports)
    unit = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "%": 1e-2}
    looked = 0
    for report, rows in zip(reports, cells):
        assert len(rows) == len(report["steps"])
        for step, row in zip(report["steps"], rows):
            for key, value, text in row:
                if step[key] is None:
                    continue
                assert float(value) == step[key], (key, value, step[key])
                word = text.replace(",", "").split()
                shown = float(word[0]) * (unit[word[1]] if len(word) > 1 else 1.0)
                small = 5e-4 if word[1:] == ["%"] else 0.0
                assert near(shown, step[key], 1e-3) or abs(shown - step[key]) <= small, (key, text, step[key])
                looked += 1
    assert looked > 50


def check_reports(shown, reports):
    """The page contains the report, with the columns of steps that it shows and their sums."""
    assert len(shown) == len(reports)
    for page, report in zip(shown, reports):
        totals = page.pop("totals")
        assert {**page, "steps": 0} == {**report, "steps": 0}
        assert page["steps"] == [{key: step[key] for key in shown} for step, shown in zip(report["steps"], page["steps"])]
        assert (totals["steps"], totals["every"]) == (len(report["steps"]), 1) and len(page["steps"]) == totals["steps"]
        known = [s["force_seconds_max"] for s in report["steps"] if s["force_seconds_max"] is not None]
        assert totals["force_seconds_max"]["known"] == len(known) and near(totals["force_seconds_max"]["sum"], sum(known), 1e-12)


def check_seconds(browser, runs):
    for k, run in enumerate(runs):
        with open(os.path.join(run, "loads.csv"), encoding="utf-8") as f:
            rows = list(csv.DictReader(f))
        for name, column in [("force", "load"), ("exchange", "exchange_seconds"), ("balance", "balance_seconds")]:
            shown = browser.run("return [...equipoise.page.runs[arguments[0]][arguments[1]]]", k, name)
            known = [float(row[column]) for row in rows]
            assert len(shown) == len(known)
            assert all(abs(a - b) <= max(known) / 60000 for a, b in zip(shown, known)), (run, name)


def check_schedule(browser, runs, reports):
    """The page shows the data of hindsight.csv, which add up to the regret of the report."""
    for k, (run, report) in enumerate(zip(runs, reports)):
        with open(os.path.join(run, "hindsight.csv"), encoding="utf-8") as f:
            rows = [[float(x) for x in row.values()] for row in csv.DictReader(f)]
        shown = browser.run("return equipoise.page.runs[arguments[0]].schedule.map(r => r.map(Number))", k)
        assert rows and shown == rows, (rows, shown)
        assert sum(row[1] for row in rows) == len(report["steps"])
        maps = report["regret_run_seconds"] - sum(row[2] for row in rows)
        assert -1e-9 <= maps <= sum(step["balance_seconds"] for step in report["steps"]) + 1e-9, maps
        assert sum(row[3] for row in rows) <= report["regret_best_seconds"] + 1e-9


def check_samples(browser, runs):
    for k, run in enumerate(runs):
        with open(os.path.join(run, "samples.bin"), "rb") as f:
            data = f.read()
        ends = struct.unpack_from("=i", data, 8)[0]
        at = 16
        for index in range(browser.run("return equipoise.page.runs[arguments[0]].frames.length", k)):
            step, n, *box = struct.unpack_from("=qq6d", data, at)
            size = 2 * (1 + 3 * ends)
            known = []
            for row in struct.iter_unpack(f"={1 + 3 * ends}H", data[at + 64:at + 64 + n * size]):
                known.append((row[0],) + tuple(box[d % 3] + (box[3 + d % 3] - box[d % 3]) / 65535 * row[1 + d] for d in range(3 * ends)))
            at += 64 + n * size
            frame = browser.run("""const f = equipoise.page.runs[arguments[0]].frames[arguments[1]];
                return [f.step, [...f.rank], [...f.position]]""", k, index)
            shown = [(rank,) + tuple(frame[2][3 * ends * i:3 * ends * (i + 1)]) for i, rank in enumerate(frame[1])]
            assert frame[0] == step and len(shown) == n
            scale = max(abs(x) for x in box)
            key = lambda row: (row[0],) + tuple(round(x / scale, 5) for x in row[1:])
            for a, b in zip(sorted(known, key=key), sorted(shown, key=key)):
                assert a[0] == b[0] and all(abs(x - y) <= 2e-5 * scale for x, y in zip(a[1:], b[1:])), (a, b)
        assert at == len(data)


def drawn_pixels(browser):
    return browser.run("""equipoise.view.drawSpaces(); return equipoise.view.spaces.map(s => { const gl = s.gl, w = s.canvas.width, h = s.canvas.height;
        const p = new Uint8Array(4 * w * h); gl.readPixels(0, 0, w, h, gl.RGBA, gl.UNSIGNED_BYTE, p);
        let n = 0, sum = 0; for (let i = 3; i < p.length; i += 4) if (p[i]) { n++; sum = (sum * 31 + i) % 1000003; }
        return [n, sum]; })""")


def check_drawing(browser):
    """The view draws something; arrow keys turn it, the slider moves every section, the theme changes."""
    time.sleep(0.5)
    before = drawn_pixels(browser)
    assert all(n > 100 for n, _ in before), before
    browser.run("""const c = equipoise.view.spaces[0].canvas; c.focus();
        for (let i = 0; i < 5; i++) c.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', cancelable: true}))""")
    time.sleep(0.5)
    assert drawn_pixels(browser) != before
    told = browser.run("return document.getElementById('status').textContent")
    browser.run("""const s = document.getElementById('step'); s.value = s.min; s.dispatchEvent(new Event('input'))""")
    assert browser.run("return document.getElementById('status').textContent") != told
    back = "return getComputedStyle(document.body).backgroundColor"
    light = browser.run(back)
    browser.run("document.getElementById('theme').click()")
    assert browser.run(back) != light


def check_access(browser):
    """Accessibility: labels, language and headings; the page loads no further resources."""
    nameless = browser.run("""return [...document.querySelectorAll('canvas, svg, [role=img]')].filter(
        e => !e.getAttribute('aria-label')).length""")
    assert nameless == 0
    assert browser.run("""return [...document.querySelectorAll('input, select')].every(e => e.labels.length > 0)""")
    assert browser.run("return document.documentElement.lang === 'en' && document.querySelectorAll('h1').length === 1")
    assert browser.run("""return performance.getEntriesByType('resource').length""") == 0


def check_files(browser):
    """Every panel saves itself as an SVG without variables of the page, and as a PNG that shows more than one colour."""
    script = """const done = arguments[arguments.length - 1];
        (async () => {
            equipoise.view.drawSpaces();
            const found = [];
            for (const panel of document.querySelectorAll('figure')) {
                const bitmap = await createImageBitmap(await pngFile(panel)), canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
                const context = canvas.getContext('2d');
                context.drawImage(bitmap, 0, 0);
                const pixels = new Uint32Array(context.getImageData(0, 0, bitmap.width, bitmap.height).data.buffer);
                found.push([await svgFile(panel).text(), new Set(pixels).size, bitmap.width]);
            }
            return found;
        })().then(done, error => done(String(error)))"""
    files = browser.call("POST", browser.session + "/execute/async", {"script": script, "args": []})
    assert isinstance(files, list) and len(files) >= 6, files
    for text, colours, width in files:
        root = xml.etree.ElementTree.fromstring(text)
        assert root.tag == "{http://www.w3.org/2000/svg}svg" and "var(" not in text, text[:400]
        assert colours > 3 and width >= 500, (colours, width, text[:200])
    named = browser.run("return [...document.querySelectorAll('.save')].map(b => b.getAttribute('aria-label'))")
    assert len(named) == 2 * len(files) and all(named), named


def main(arguments):
    driver, binary, page, *runs = arguments
    reports = []
    for run in runs:
        with open(os.path.join(run, "report.json"), encoding="utf-8") as f:
            reports.append(json.load(f))
    browser = Browser(driver, binary)
    try:
        browser.open(page)
        check_reports(browser.run("return equipoise.page.runs.map(r => r.report)"), reports)
        check_tables(browser, reports)
        check_seconds(browser, runs)
        check_schedule(browser, runs, reports)
        check_samples(browser, runs)
        check_drawing(browser)
        check_files(browser)
        check_access(browser)
        errors = browser.errors()
        assert not errors, errors
    finally:
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
