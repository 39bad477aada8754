"""What the tests of the page in a browser share."""

import pathlib
import sys
import tempfile
import time
import unittest

import page

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import browser  # noqa: E402
from waiting import wait_for  # noqa: E402

TEXT = "return document.body.innerText"


class Browsing(unittest.TestCase):
    """One browser for all tests of a class; each test opens its own page."""

    WIDTH, DARK, SCRIPT = 1400, False, True

    @classmethod
    def setUpClass(cls):
        if not browser.is_here():
            raise unittest.SkipTest("no browser (Debian: chromium, chromium-driver, python3-selenium)")
        cls.folder = tempfile.TemporaryDirectory()
        cls.driver = browser.start(cls.WIDTH, 1000, dark=cls.DARK, script=cls.SCRIPT)

    @classmethod
    def tearDownClass(cls):
        cls.driver.quit()
        cls.folder.cleanup()

    def tearDown(self):
        self.assertEqual(browser.errors(self.driver, ("SEVERE", "WARNING")), [])
        foreign = browser.foreign_requests(self.driver)
        self.assertEqual([url for url in foreign if not url.startswith("http://127.0.0.1:")], [])

    def open(self, document, hash_="", **parts):
        path = pathlib.Path(self.folder.name) / f"{self.id()}{time.monotonic_ns()}.html"
        path.write_text(page.page(document, **parts), encoding="utf-8")
        self.driver.get(f"file://{path}{hash_}")
        if self.SCRIPT:
            self.until(lambda: self.run_script("return performance.getEntriesByName('slipway-ready').length > 0"),
                       "the page starts")
        self.settle()

    def run_script(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def text(self, selector="body"):
        return self.run_script("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def texts(self, selector):
        return self.run_script("return [...document.querySelectorAll(arguments[0])].map((e) => e.innerText)", selector)

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def settle(self):
        """Waits until two frames have been drawn."""
        if not self.SCRIPT:
            return
        self.driver.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => "
                                         "requestAnimationFrame(() => setTimeout(done, 30)))")

    def until(self, condition, what, seconds=20):
        wait_for(condition, seconds, what)

    def show(self, selector):
        """Scrolls there; gives left, top, width, height in the window."""
        self.run_script("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", selector)
        self.settle()
        time.sleep(0.2)
        self.settle()
        return self.run_script("const b = document.querySelector(arguments[0]).getBoundingClientRect(); return "
                               "[b.left, b.top, b.width, b.height]", selector)

    def mouse(self, kind, x, y, is_down, modifiers=0):
        button = "left" if is_down or kind != "mouseMoved" else "none"
        self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, "button": button,
                                                                 "buttons": int(is_down), "clickCount": 1,
                                                                 "modifiers": modifiers})

    def click_at(self, x, y, modifiers=0):
        self.mouse("mouseMoved", x, y, False)
        self.mouse("mousePressed", x, y, True, modifiers)
        self.mouse("mouseReleased", x, y, False, modifiers)
        self.settle()

    def drag(self, x0, y0, x1, y1, moves=8, modifiers=0):
        self.mouse("mousePressed", x0, y0, True, modifiers)
        for i in range(1, moves + 1):
            self.mouse("mouseMoved", x0 + (x1 - x0) * i / moves, y0 + (y1 - y0) * i / moves, True, modifiers)
        self.mouse("mouseReleased", x1, y1, False, modifiers)
        self.settle()

    def keys(self, *keys):
        from selenium.webdriver.common.action_chains import ActionChains
        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()
        self.settle()

    def selected(self):
        """How many trials the bar at the bottom counts."""
        words = self.text(".selection-bar:not([hidden])")
        return int(words.split()[0].replace(",", "")) if words else 0
