#!/usr/bin/python3
"""The pictures of the documentation: each is drawn from its source as it is now, is on a page, and loads nothing.
Screenshots come in two colour schemes."""

import pathlib
import re
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"
SVG = "{http://www.w3.org/2000/svg}"
USE = re.compile(r"!\[([^\]]+)\]\(([^)\s]+)\)")


SCHEMES = ("light", "dark")
LARGEST_PNG = 150_000


def names(folder, suffix):
    return sorted(path.stem for path in pathlib.Path(folder).glob("*" + suffix) if not is_screenshot(path))


def is_screenshot(path):
    """Of scripts/screenshots, not of docs/pictures/draw."""
    return path.stem.endswith(SCHEMES)


def drawn_pictures():
    return [path for path in PICTURES.glob("*.svg") if not is_screenshot(path)]


def screenshots():
    return [path for path in PICTURES.iterdir() if path.suffix in (".svg", ".png") and is_screenshot(path)]


def is_on_a_page(picture, shown):
    """A page names the light one; the site shows the other one in its dark scheme."""
    return picture.with_stem(picture.stem.removesuffix("-dark") + "-light" if picture.stem.endswith("-dark") else
                             picture.stem).resolve() in shown


class Pictures(unittest.TestCase):
    def test_each_is_drawn_from_its_source(self):
        self.assertGreater(len(names(PICTURES, ".dot")), 0)
        self.assertEqual(names(PICTURES, ".dot"), names(PICTURES, ".svg"))
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([PICTURES / "draw", folder], check=True)
            for picture in drawn_pictures():
                self.assertEqual(picture.read_text(), (pathlib.Path(folder) / picture.name).read_text(),
                                 f"{picture.name} is older than its source; run: docs/pictures/draw")

    def test_each_is_on_a_page_with_a_text_for_those_who_do_not_see_it(self):
        shown = set()
        for page in (ROOT / "docs").rglob("*.md"):
            shown |= {(page.parent / target).resolve() for _, target in USE.findall(page.read_text())}
        for picture in [*drawn_pictures(), *screenshots()]:
            self.assertTrue(is_on_a_page(picture, shown), f"no page of docs/ shows {picture.name}")

    def test_screenshots_come_in_both_schemes_and_are_small(self):
        found = {path.name for path in screenshots()}
        self.assertEqual({path.name for path in screenshots() if path.suffix == ".png"},
                         {"report-light.png", "report-dark.png"})
        for name in found:
            self.assertIn(name.replace("-light.", "-dark."), found)
            self.assertIn(name.replace("-dark.", "-light."), found)
        for path in screenshots():
            self.assertLessEqual(path.stat().st_size, LARGEST_PNG, f"{path.name}; run: scripts/screenshots")

    def test_each_has_a_title_both_colours_and_loads_nothing(self):
        for picture in PICTURES.glob("*.svg"):
            text = picture.read_text()
            root = xml.etree.ElementTree.fromstring(text)
            self.assertTrue(root.find(SVG + "title").text, picture.name)
            if not is_screenshot(picture):
                self.assertIn("prefers-color-scheme: dark", text)
            self.assertNotIn("<!DOCTYPE", text)
            self.assertNotRegex(text.replace('xmlns="http://www.w3.org/2000/svg"', ""), r"https?://|url\(|@import|href")


if __name__ == "__main__":
    unittest.main()
