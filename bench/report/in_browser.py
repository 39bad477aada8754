"""Pages in headless Chromium: when they are painted and usable, and how long frames take while a mouse drags."""

import importlib.util
import shutil
import time

PATIENCE_S = 300
READY = "slipway-ready"  # the mark of performance.mark() that a page sets when it can be used
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
TIMES = """
const paint = performance.getEntriesByType('paint').find((entry) => entry.name === 'first-contentful-paint');
const ready = performance.getEntriesByName(arguments[0])[0];
return paint && ready ? [paint.startTime, ready.startTime] : null;
"""


def has_browser():
    return bool(importlib.util.find_spec("selenium") and shutil.which("chromedriver") and shutil.which("chromium"))


class Browser:
    """One window. It reaches no host, and draws WebGL on the processor."""

    def __init__(self, width=1400, height=1000):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                         "--enable-unsafe-swiftshader", "--force-device-scale-factor=1", "--hide-scrollbars",
                         "--host-resolver-rules=MAP * ~NOTFOUND", "--disable-background-networking",
                         "--disable-component-update", f"--window-size={width},{height}"):
            options.add_argument(argument)
        self.driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        self.driver.set_script_timeout(PATIENCE_S)
        self.driver.set_page_load_timeout(PATIENCE_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def open(self, path):
        """Milliseconds until the first paint and until the page is usable, from the start of its navigation."""
        self.driver.get(f"file://{path}")
        end = time.monotonic() + PATIENCE_S
        while (times := self.run(TIMES, READY)) is None:
            if time.monotonic() > end:
                raise TimeoutError(f"{path} was not usable within {PATIENCE_S} s")
            time.sleep(0.05)
        return {"first_paint_ms": times[0], "usable_ms": times[1]}

    def mouse(self, kind, x, y, is_down=True):
        self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {
            "type": kind, "x": x, "y": y, "button": "left" if is_down else "none", "buttons": int(is_down),
            "clickCount": 1})

    def frames_of_drag(self, x, y, down_px, moves=60):
        """Drags from x, y downwards; the times of the frames meanwhile, in milliseconds."""
        self.run(RECORD)
        self.mouse("mouseMoved", x, y, False)
        self.mouse("mousePressed", x, y)
        self.run("window.frames_ = []")
        for i in range(1, moves + 1):
            self.mouse("mouseMoved", x, y + down_px * i / moves)
        frames = self.run("return window.frames_")
        self.mouse("mouseReleased", x, y + down_px)
        return frames[1:]
