#!/usr/bin/python3
"""The built assets of the report's page: up to date, self-contained, and safe to put into one file."""

import hashlib
import json
import re
import unittest

import page
import synthetic

DIST = page.REPORT / "dist"
HOSTILE = "</script><script>x</script><!-- <script> \u2028 & 'quoted'"


class Assets(unittest.TestCase):
    def test_are_built_from_the_sources_that_are_here(self):
        recorded = dict(reversed(line.split("  ", 1)) for line in (DIST / "SOURCES.sha256").read_text().splitlines())
        here = [path for path in (page.REPORT / "src").rglob("*") if path.is_file()]
        here += [page.REPORT / name for name in ("package.json", "package-lock.json", "build.mjs")]
        found = {str(path.relative_to(page.REPORT)): hashlib.sha256(path.read_bytes()).hexdigest() for path in here}
        self.assertEqual(recorded, found, "run templates/report/rebuild")

    def test_cannot_end_the_element_that_holds_them(self):
        for name, ends in (("report.js", r"</script|<!--"), ("report.css", r"</style|<!--")):
            self.assertIsNone(re.search(ends, (DIST / name).read_text(), re.IGNORECASE), name)

    def test_name_no_address_of_any_host(self):
        for name in ("report.js", "report.css"):
            found = set(re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\"'`\s)]*", (DIST / name).read_text()))
            self.assertEqual(found - {"http://www.w3.org/2000/svg"}, set(), name)

    def test_parse_no_html_from_data(self):
        for path in (page.REPORT / "src").rglob("*.js"):
            self.assertIsNone(re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\(",
                                        path.read_text()), path.name)

    def test_name_the_licence_of_each_library(self):
        licences = (DIST / "LICENSES.txt").read_text()
        wanted = json.loads((page.REPORT / "package.json").read_text())["dependencies"]
        for name, version in wanted.items():
            self.assertIn(f"{name} {version} (", licences)

    def test_lock_exact_versions_and_no_addresses(self):
        lock = json.loads((page.REPORT / "package-lock.json").read_text())
        for name, package in lock["packages"].items():
            self.assertNotIn("resolved", package, name)
            self.assertTrue(not name or re.fullmatch(r"\d+\.\d+\.\d+", package["version"]), name)

    def test_are_put_into_the_skeleton_each_once(self):
        skeleton = (page.REPORT / "skeleton.html").read_text()
        self.assertEqual(re.findall(r"<!-- slipway:(\w+) -->", skeleton),
                         ["live", "style", "summary", "view", "script"])

    def test_sources_are_short(self):
        for path in (page.REPORT / "src").rglob("*.js"):
            self.assertLess(len(path.read_text().splitlines()), 300, path.name)


class Document(unittest.TestCase):
    def test_made_for_tests_has_the_members_that_the_program_writes(self):
        source = (page.REPORT.parents[1] / "launcher/view/run_view.cpp").read_text()
        for kind, made in (("RunView", synthetic.single()), ("CurveView", synthetic.single()["curves"][0]),
                           ("RankEndView", synthetic.single()["attempts"][0]["ranks"][0])):
            body = source.split(f"MaybeConst<{kind}> Struct>", 1)[1].split("\n}\n", 1)[0]
            self.assertEqual(sorted(made), sorted(re.findall(r'visit\("(\w+)"', body)), kind)

    def test_cannot_end_its_element_and_reads_back(self):
        document = synthetic.view({**synthetic.single(), "name": HOSTILE})
        text = page.embedded(document)
        self.assertIsNone(re.search("[<>&\u2028\u2029]", text))
        self.assertEqual(json.loads(text), document)

    def test_placeholders_in_data_stay_data(self):
        document = synthetic.view({**synthetic.single(), "name": "<!-- slipway:script -->"})
        self.assertEqual(page.page(document, summary="&lt;!-- slipway:view --&gt;").count("<script>"), 1)

    def test_of_ten_thousand_trials_fits_three_megabytes(self):
        self.assertLess(len(page.page(synthetic.view(synthetic.ensemble(10000))).encode()), 3_000_000)


if __name__ == "__main__":
    unittest.main()
