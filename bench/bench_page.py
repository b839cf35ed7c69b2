#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The page of a run: how large it is, when a browser first paints something, and how many frames it shows in a second
while 100,000 points turn. The browser is headless Chromium, which draws with the processor where there is no graphics
device: a lower bound of what people see. Where frames come slowly the page draws fewer points while they turn; how many
is the last column. Wall seconds, so use an idle machine.

usage: bench_page.py BUILD [RANKS STEPS]     defaults: 64 200; some minutes on two cores
Prints CSV. Needs chromium and chromedriver.
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "app"))
from view_browser import Browser  # noqa: E402

RUN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "helpers", "run.sh")  # mpirun as root, too

RELOADS = 5
PAINT = "const p = performance.getEntriesByName('first-contentful-paint')[0]; return p && p.startTime"
TURN = """const done = arguments[0], view = equipoise.view; document.getElementById('turn').checked = true; view.changed();
setTimeout(() => { const from = view.drawn, begin = performance.now();
setTimeout(() => done([1000 * (view.drawn - from) / (performance.now() - begin), view.spaces[0].n / view.every]), 3000); }, 1000);"""


def run(build, folder, ranks, particles, steps):
    report = os.path.join(folder, "report")
    subprocess.run([RUN, str(ranks), os.path.join(build, "apps/barneshut/barneshut"), "--generate",
                    f"disks:n={particles}", "--steps", str(steps), "--balance", "sfc", "--report", report, "--quiet"], check=True)
    return os.path.join(report, "run.html")


def first_paint(browser, page):
    times = []
    for _ in range(RELOADS):
        browser.open(page)
        while not browser.run(PAINT):
            time.sleep(0.1)
        times.append(browser.run(PAINT))
    return statistics.median(times)


def frames_per_second(browser, page):
    browser.open(page)
    points = browser.run("return equipoise.view.spaces[0].n")
    browser.call("POST", browser.session + "/timeouts", {"script": 20000})
    return [points] + browser.call("POST", browser.session + "/execute/async", {"script": TURN, "args": []})


def main(build, ranks="64", steps="200"):
    driver, binary = shutil.which("chromedriver"), shutil.which("chromium")
    if not driver or not binary:
        sys.exit("bench_page: chromium and chromedriver are not installed")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder
        long = run(build, os.path.join(folder, "long"), int(ranks), 100000, int(steps))
        still = run(build, os.path.join(folder, "still"), 4, 100000, 0)
        browser = Browser(driver, binary)
        try:
            points, frames, drawn = frames_per_second(browser, still)
            print("ranks,steps,page_bytes,first_paint_ms,points,frames_per_second,points_while_turning")
            print(f"{ranks},{steps},{os.path.getsize(long)},{first_paint(browser, long):.0f},{points},{frames:.1f},{drawn:.0f}")
        finally:
            browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
