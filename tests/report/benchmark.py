#!/usr/bin/python3
"""How fast the page is with many trials: benchmark.py [TRIALS] [REPEATS].

Prints the size of the file, the first paint, the time until the page can be used, and how long frames take while a
range is dragged along an axis of the parallel coordinates. Needs Chromium.
"""

import pathlib
import statistics
import sys
import tempfile
import time

from page import browser, page
from synthetic import ensemble, view

RECORD = """
window.frames_ = [];
let last = performance.now();
(function frame() {
  const now = performance.now();
  window.frames_.push(now - last);
  last = now;
  requestAnimationFrame(frame);
})();
"""


def place_of_chart(driver):
    """Scrolls to the parallel coordinates; gives left, top, width and height of the chart."""
    driver.execute_script("document.getElementById('s-parallel-coordinates').scrollIntoView()")
    time.sleep(1.5)
    return driver.execute_script("const b = document.querySelector('#s-parallel-coordinates .surface').getBoundingClientRect();"
                                 "return [b.left, b.top, b.width, b.height]")


def mouse(driver, kind, x, y, is_down=True):
    driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, "button": "left" if is_down else "none",
                                                        "buttons": 1 if is_down else 0, "clickCount": 1})


def drag_along_axis(driver, moves=60):
    """Drags a range along the first axis; returns the times of frames in milliseconds."""
    left, top, _, height = place_of_chart(driver)
    x, y = left + 52, top + 60
    driver.execute_script(RECORD)
    mouse(driver, "mousePressed", x, y)
    driver.execute_script("window.frames_ = []")
    for i in range(moves):
        mouse(driver, "mouseMoved", x, y + (height - 120) * (i + 1) / moves)
    frames = driver.execute_script("return window.frames_")
    mouse(driver, "mouseReleased", x, y + height - 120)
    return frames[1:]


def measure(path):
    driver = browser()
    try:
        driver.get(f"file://{path}")
        time.sleep(1)
        paint, ready, parsed = driver.execute_script(
            "return [performance.getEntriesByType('paint').find((e) => e.name === 'first-contentful-paint').startTime,"
            "performance.getEntriesByName('slipway-ready')[0].startTime, performance.timing.domInteractive - performance.timing.navigationStart]")
        return paint, ready, parsed, drag_along_axis(driver)
    finally:
        driver.quit()


def main(trials=10000, repeats=3):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "report.html"
        path.write_text(page(view(ensemble(trials))), encoding="utf-8")
        print(f"{trials} trials: {path.stat().st_size / 1e6:.2f} MB")
        for _ in range(repeats):
            paint, ready, parsed, frames = measure(path)
            ordered = sorted(frames)
            print(f"first paint {paint:.0f} ms, usable {ready:.0f} ms (parsed {parsed:.0f} ms); brush: {len(frames)} frames, median {statistics.median(frames):.0f} ms, "
                  f"95th percentile {ordered[int(.95 * (len(ordered) - 1))]:.0f} ms, longest {ordered[-1]:.0f} ms")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
