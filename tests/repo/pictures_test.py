#!/usr/bin/python3
"""The pictures of the documentation: each is drawn from its source as it is now, is on a page, and loads nothing."""

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


def names(folder, suffix):
    return sorted(path.stem for path in pathlib.Path(folder).glob("*" + suffix))


class Pictures(unittest.TestCase):
    def test_each_is_drawn_from_its_source(self):
        self.assertGreater(len(names(PICTURES, ".dot")), 0)
        self.assertEqual(names(PICTURES, ".dot"), names(PICTURES, ".svg"))
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([PICTURES / "draw", folder], check=True)
            for picture in PICTURES.glob("*.svg"):
                self.assertEqual(picture.read_text(), (pathlib.Path(folder) / picture.name).read_text(),
                                 f"{picture.name} is older than its source; run: docs/pictures/draw")

    def test_each_is_on_a_page_with_a_text_for_those_who_do_not_see_it(self):
        shown = set()
        for page in (ROOT / "docs").rglob("*.md"):
            shown |= {(page.parent / target).resolve() for _, target in USE.findall(page.read_text())}
        for picture in PICTURES.glob("*.svg"):
            self.assertIn(picture.resolve(), shown, f"no page of docs/ shows {picture.name}")

    def test_each_has_a_title_both_colours_and_loads_nothing(self):
        for picture in PICTURES.glob("*.svg"):
            text = picture.read_text()
            root = xml.etree.ElementTree.fromstring(text)
            self.assertTrue(root.find(SVG + "title").text, picture.name)
            self.assertIn("prefers-color-scheme: dark", text)
            self.assertNotIn("<!DOCTYPE", text)
            self.assertNotRegex(text.replace('xmlns="http://www.w3.org/2000/svg"', ""), r"https?://|url\(|@import|href")


if __name__ == "__main__":
    unittest.main()
