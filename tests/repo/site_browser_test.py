#!/usr/bin/python3
"""The site of the documentation in a browser: search, dark mode and pictures work, and no other host is asked."""

import io
import pathlib
import sys
import tempfile
import unittest

from PIL import Image
from selenium.webdriver.common.by import By

import site_test

sys.path.insert(0, str(site_test.ROOT / "tests" / "support"))
import browser  # noqa: E402
from waiting import wait_for  # noqa: E402

QUERY = "[data-md-component=search-query]"
RESULT = "a.md-search-result__link"
PICTURE = "article img[src$='.svg']"


class SiteInABrowser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        site_test.make_site(place)
        cls.address = cls.enterClassContext(browser.served(place))
        cls.chromium = cls.enterClassContext(browser.browser())

    def tearDown(self):
        self.assertEqual(browser.errors(self.chromium), [])
        self.assertEqual(browser.foreign_requests(self.chromium, self.address), [])

    def open(self, page):
        self.chromium.get(f"{self.address}/{page}")

    def find(self, selector):
        return self.chromium.find_elements(By.CSS_SELECTOR, selector)

    def wait_until(self, question, what):
        return wait_for(question, 60, what)

    def scheme(self):
        return self.find("body")[0].get_attribute("data-md-color-scheme")

    def bright_part(self, selector):
        """The part of an element's pixels that are nearly white."""
        picture = Image.open(io.BytesIO(self.find(selector)[0].screenshot_as_png)).convert("L")
        return sum(picture.histogram()[225:]) / (picture.width * picture.height)

    def test_a_search_leads_to_a_page(self):
        self.open("index.html")
        self.find(QUERY)[0].send_keys("recursive doubling")
        first = self.wait_until(lambda: self.find(RESULT), "a result of the search")[0]
        self.assertIn("xchange", first.text)
        first.click()
        self.wait_until(lambda: "/index.html" not in self.chromium.current_url, "the page of the result")
        self.assertIn("recursive doubling", self.find("article")[0].text.lower())

    def test_the_switch_turns_page_and_pictures_dark(self):
        self.open("explanation/exchange.html")
        self.assertEqual(self.scheme(), "default")
        self.assertGreater(self.bright_part(PICTURE), 0.5)
        next(label for label in self.find("label[for^=__palette]") if label.is_displayed()).click()
        self.wait_until(lambda: self.scheme() == "slate", "the dark scheme")
        self.wait_until(lambda: self.bright_part(PICTURE) < 0.05, "a dark picture")
        self.open("index.html")
        self.assertEqual(self.scheme(), "slate", "the choice holds for other pages")
        self.chromium.execute_script("localStorage.clear()")

    def test_every_picture_is_shown(self):
        pages = [page for page in (site_test.ROOT / "docs").rglob("*.md") if "pictures/" in page.read_text()]
        self.assertTrue(pages)
        for page in pages:
            self.open(page.relative_to(site_test.ROOT / "docs").with_suffix(".html"))
            for picture in self.find(PICTURE):
                self.wait_until(lambda: picture.get_property("complete"), f"a picture of {page}")
                self.assertGreater(picture.get_property("naturalWidth"), 100, page)
                self.assertLess(picture.size["width"], 760, f"{page}: wider than its column")

    def test_a_request_to_another_host_would_be_noticed(self):
        self.open("index.html")
        self.assertEqual(browser.foreign_requests(self.chromium, self.address), [])
        self.chromium.execute_script("fetch('http://other.invalid/x').catch(() => { window.refused = true })")
        self.wait_until(lambda: self.chromium.execute_script("return window.refused"), "the refusal")
        self.assertEqual(browser.foreign_requests(self.chromium, self.address), ["http://other.invalid/x"])
        self.assertTrue(browser.errors(self.chromium))


if __name__ == "__main__":
    unittest.main()
