#!/usr/bin/python3
"""The site of the documentation: it is made without a warning, every page can be reached, nothing comes from elsewhere."""

import html.parser
import pathlib
import posixpath
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOADS = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}


def make_site(folder):
    """Makes the site in `folder`; a warning is an error."""
    made = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
                          cwd=ROOT, capture_output=True, text=True)
    if made.returncode != 0:
        raise AssertionError(made.stdout + made.stderr)


class Links(html.parser.HTMLParser):
    """Where a page leads, and what a browser loads for it."""

    def __init__(self, page):
        super().__init__()
        self.pages, self.loaded = set(), set()
        self._here = posixpath.dirname(page)
        self._in_navigation = 0

    def handle_starttag(self, tag, attributes):
        self._in_navigation += tag == "nav"
        for name, value in attributes:
            if (tag, name) in LOADS and dict(attributes).get("rel") != "canonical":
                self.loaded.add(value)
            if (tag, name) == ("a", "href") and value and "://" not in value and not self._in_navigation:
                self.pages.add(posixpath.normpath(posixpath.join(self._here, value.split("#")[0] or ".")))

    def handle_endtag(self, tag):
        self._in_navigation -= tag == "nav"


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls._place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls._place.cleanup)
        cls.site = pathlib.Path(cls._place.name)
        make_site(cls.site)
        cls.links = {}
        for page in cls.site.rglob("*.html"):
            name = str(page.relative_to(cls.site))
            cls.links[name] = Links(name)
            cls.links[name].feed(page.read_text())

    def test_has_a_page_for_each_document(self):
        documents = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
        self.assertGreater(len(documents), 50)
        for document in documents:
            self.assertIn(str(document.with_suffix(".html")), self.links)

    def test_every_page_is_linked_from_the_text_of_another(self):
        reached, open_pages = {"index.html"}, ["index.html"]
        while open_pages:
            for page in self.links[open_pages.pop()].pages & self.links.keys() - reached:
                reached.add(page)
                open_pages.append(page)
        self.assertEqual(self.links.keys() - reached - {"404.html"}, set())

    def test_loads_nothing_from_the_network(self):
        loaded = {(page, address) for page, links in self.links.items() for address in links.loaded}
        self.assertTrue(loaded)
        self.assertEqual({entry for entry in loaded if "//" in entry[1]}, set())

    def test_shows_sequence_diagrams_as_steps(self):
        page = (self.site / "ARCHITECTURE.html").read_text()
        self.assertIn("<li><code>cli/command_line.cpp</code> → <code>cli/commands/run.cpp</code>: Run(options)</li>", page)
        self.assertNotIn("sequenceDiagram", page)

    def test_finds_words_of_all_pages(self):
        index = (self.site / "search" / "search_index.json").read_text()
        for words in ("slipway resume", "burst buffer", "allreduce"):
            self.assertIn(words, index)


if __name__ == "__main__":
    unittest.main()
