#!/usr/bin/python3
"""One selection over table and charts, brushes, filters, keys, themes, print and accessibility, in a real browser."""

import base64
import unittest

import page
import synthetic
from browsing import Browsing

AXE = page.REPORT / "node_modules/axe-core/axe.min.js"
ALT, CTRL = 1, 2
HISTORY = "[aria-label=History] .surface"
PARALLEL = "#s-parallel-coordinates .surface"


def rows_with(run, test):
    return [i for i in run["trials"]["number"] if test(i)]


class Table(Browsing):
    def setUp(self):
        self.run_ = synthetic.ensemble(300)
        self.open(synthetic.view(self.run_))

    def column(self, title):
        titles = [each.strip("▾▴ \n") for each in self.texts(".grid th")]
        return self.texts(f".grid tbody tr:not(.spacer) td:nth-child({titles.index(title) + 1})")

    def click_head(self, title):
        self.find(f".grid th button[title='{title}']").click()
        self.settle()

    def test_sorts_up_down_and_as_before(self):
        rates = [value for value in self.run_["trials"]["parameters"]["lr"]]
        self.click_head("lr")
        self.assertEqual([float(value) for value in self.column("lr")[:10]],
                         [float(f"{value:.4g}") for value in sorted(rates)[:10]])
        self.click_head("lr")
        self.assertEqual([float(value) for value in self.column("lr")[:10]],
                         [float(f"{value:.4g}") for value in sorted(rates, reverse=True)[:10]])
        self.assertEqual(self.run_script("return document.querySelector('.grid "
                                         "th[aria-sort]').getAttribute('aria-sort')"), "descending")
        self.click_head("lr")
        self.assertEqual(self.column("Trial")[:3], ["0", "1", "2"])

    def test_rows_without_a_value_come_last_in_both_directions(self):
        for _ in range(2):
            self.click_head("momentum")
            self.assertNotIn("–", self.column("momentum")[:5])

    def test_filters_by_comparisons_and_words(self):
        parameters, state = self.run_["trials"]["parameters"], self.run_["trials"]["state"]
        wanted = rows_with(self.run_, lambda i: parameters["lr"][i] < .001 and parameters["optimizer"][i] == "adam"
                           and state[i] == "complete")
        self.find(".search").send_keys("lr<0.001 optimizer=adam complete")
        self.settle()
        self.assertIn(f"{len(wanted)} of 300", self.text("#s-trials .count"))
        self.assertEqual(self.run_script("return document.querySelector('.grid').getAttribute('aria-rowcount')"),
                         str(len(wanted) + 1))
        self.find(".search").send_keys(" nothing>3")
        self.assertIn('No column "nothing"', self.text("#s-trials .count"))

    def test_shows_only_columns_that_differ(self):
        titles = " ".join(self.texts(".grid th"))
        self.assertIn("Place", titles)
        self.assertNotIn("Repeat", titles)
        self.find("#s-trials .toggle").click()
        self.assertIn("Repeat", " ".join(self.texts(".grid th")))

    def test_scrolls_over_all_rows_with_few_elements(self):
        self.run_script("document.querySelector('.grid-scroll').scrollTop = 1e6")
        self.settle()
        self.assertLess(self.run_script("return document.querySelectorAll('.grid tbody tr').length"), 60)
        self.assertEqual(self.run_script("return [...document.querySelectorAll('.grid tbody "
                                         "tr:not(.spacer)')].pop().getAttribute('aria-rowindex')"), "301")

    def test_keys_walk_and_select(self):
        from selenium.webdriver.common.keys import Keys
        self.run_script("document.querySelector('.grid tbody tr[tabindex=\"0\"]').focus()")
        self.keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.SPACE, Keys.ARROW_DOWN, Keys.SPACE)
        self.assertEqual(self.selected(), 2)
        self.assertEqual(self.run_script("return [...document.querySelectorAll('.grid [aria-selected=true]')].map((e) "
                                         "=> e.getAttribute('aria-rowindex'))"), ["4", "5"])
        self.keys(Keys.ESCAPE)
        self.assertEqual(self.selected(), 0)


class ValueAxis(Browsing):
    """Linear or logarithmic, as the values need it and as the reader wants it."""

    BUTTON = "[aria-label=History] .toggle"

    def open_with(self, value_of):
        run = synthetic.ensemble(60)
        columns = run["trials"]["value"]
        columns[0] = [None if value is None else value_of(i) for i, value in enumerate(columns[0])]
        self.open(synthetic.view(run))
        self.show(HISTORY)

    def axis(self):
        """What the button and the words for screen readers say."""
        pressed = self.find(self.BUTTON).get_attribute("aria-pressed")
        label = self.find(HISTORY).get_attribute("aria-label")
        return pressed == "true", "on a logarithmic axis" in label

    def picture(self):
        return self.run_script(f"return document.querySelector('{HISTORY} canvas').toDataURL()")

    def test_is_logarithmic_for_values_over_several_decades(self):
        self.open_with(lambda i: 10.0 ** -(i % 7))
        self.assertEqual(self.axis(), (True, True))
        self.show("#s-parameters [aria-label=Slices] .surface")
        self.assertEqual(self.find("[aria-label=Slices] .toggle").get_attribute("aria-pressed"), "true")

    def test_is_linear_where_that_shows_all(self):
        for value_of in (lambda i: .1 + .01 * (i % 7), lambda i: 10.0 ** -(i % 7) - .5, lambda i: -(10.0 ** (i % 7)),
                         lambda i: 1e9 if i == 2 else 1 + .01 * i):
            self.open_with(value_of)
            self.assertEqual(self.axis(), (False, False), value_of(2))

    def test_switches_by_keys(self):
        from selenium.webdriver.common.keys import Keys
        self.open_with(lambda i: 10.0 ** -(i % 7))
        before = self.picture()
        self.find(self.BUTTON).send_keys(Keys.SPACE)
        self.settle()
        self.assertEqual(self.axis(), (False, False))
        self.assertNotEqual(self.picture(), before)
        self.find(self.BUTTON).send_keys(Keys.ENTER)
        self.settle()
        self.assertEqual(self.axis(), (True, True))
        self.assertEqual(self.picture(), before)

    def test_counts_the_values_that_have_no_place(self):
        self.open_with(lambda i: i - 30)
        self.find(self.BUTTON).click()
        self.settle()
        self.assertRegex(self.text("[aria-label=History] .note"), r"\d+ values are not positive")

    def test_is_never_logarithmic_without_a_positive_value(self):
        self.open_with(lambda i: -1 - i)
        self.assertFalse(self.find(self.BUTTON).is_enabled())


class Selection(Browsing):
    def setUp(self):
        self.run_ = synthetic.ensemble(300)
        self.open(synthetic.view(self.run_))

    def test_a_click_on_a_row_is_seen_in_every_chart(self):
        self.show(HISTORY)
        before = self.run_script(f"return document.querySelector('{HISTORY} canvas').toDataURL()")
        self.find(".grid tbody tr[aria-rowindex='2']").click()
        self.settle()
        self.assertEqual(self.selected(), 1)
        self.assertNotEqual(self.run_script(f"return document.querySelector('{HISTORY} canvas').toDataURL()"), before)
        self.assertEqual(self.text(".chosen-trials"), str(self.run_["trials"]["rank"].index(1)))
        self.find(".grid tbody tr[aria-rowindex='2']").click()
        self.settle()
        self.assertEqual(self.selected(), 0)

    def test_a_box_in_the_history_selects(self):
        left, top, width, height = self.show(HISTORY)
        self.drag(left + 60, top + 24, left + width - 16, top + height - 40)
        values = self.run_["trials"]["value"][0]
        self.assertGreater(self.selected(), .85 * sum(value is not None for value in values))
        self.drag(left + 60, top + 24, left + 60 + (width - 76) / 2, top + height - 40)
        chosen = self.selected()
        self.assertTrue(0 < chosen < 160, chosen)

    def test_a_brush_selects_what_lies_in_its_range(self):
        left, top, _, height = self.show(PARALLEL)
        self.drag(left + 52, top + height * .3, left + 52, top + height * .6)
        low, high = self.run_script("return [...document.querySelectorAll(\"#s-parallel-coordinates "
                                    "input[aria-label='lr from'], #s-parallel-coordinates input[aria-label='lr "
                                    "to']\")].map((e) => Number(e.value))")
        self.assertTrue(0 < low < high < .1, (low, high))
        rates = self.run_["trials"]["parameters"]["lr"]
        self.assertLessEqual(abs(self.selected() - len(rows_with(self.run_, lambda i: low <= rates[i] <= high))), 1)
        self.click_at(left + 52, top + height * .45)
        self.assertEqual(self.selected(), 0)

    def test_a_typed_range_selects_the_same(self):
        self.show(PARALLEL)
        self.run_script("document.querySelector('#s-parallel-coordinates .popover').open = true")
        box = self.find("#s-parallel-coordinates input[aria-label='dropout to']")
        box.send_keys("0.25\t")
        self.settle()
        dropout = self.run_["trials"]["parameters"]["dropout"]
        self.assertEqual(self.selected(), len(rows_with(self.run_, lambda i: dropout[i] <= .25)))

    def test_axes_move_by_keys_and_hide(self):
        from selenium.webdriver.common.keys import Keys
        self.show(PARALLEL)
        names = self.texts(".axis-name")
        self.run_script("document.querySelector('.axis-name').focus()")
        self.keys(Keys.ARROW_RIGHT)
        self.assertEqual(self.texts(".axis-name")[:2], [names[1], names[0]])
        self.run_script("document.querySelector('#s-parallel-coordinates .popover').open = true")
        self.find("#s-parallel-coordinates input[aria-label='Show warmup']").click()
        self.settle()
        self.assertNotIn("warmup", self.texts(".axis-name"))

    def test_points_are_reached_by_keys(self):
        from selenium.webdriver.common.keys import Keys
        self.show(HISTORY)
        self.run_script(f"document.querySelector('{HISTORY}').focus()")
        self.keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        self.assertIn("Trial ", self.text("#announcer"))
        self.keys(Keys.ENTER)
        self.assertEqual(self.selected(), 1)

    def test_a_failure_selects_its_trials(self):
        self.find("#s-failures button").click()
        self.settle()
        self.assertEqual(self.selected(), len(self.run_["failures"][0]["trials"]))


class Charts(Browsing):
    def test_a_drag_zooms_and_a_button_undoes_it(self):
        self.open(synthetic.view(synthetic.single()))
        chart = "#s-learning-curves .surface"
        left, top, width, height = self.show(chart)
        self.assertFalse(self.find("[aria-label='Reset zoom']").is_displayed())
        self.drag(left + width * .3, top + height / 2, left + width * .6, top + height / 2)
        self.assertTrue(self.find("[aria-label='Reset zoom']").is_displayed())
        self.find("[aria-label='Reset zoom']").click()
        self.assertFalse(self.find("[aria-label='Reset zoom']").is_displayed())

    def test_metrics_can_be_chosen_and_have_a_table(self):
        run = synthetic.single()
        self.open(synthetic.view(run))
        chips = self.driver.find_elements("css selector", "#s-learning-curves .chips .toggle")
        self.assertEqual([chip.get_attribute("aria-pressed") for chip in chips],
                         ["true", "true", "false", "false", "false"])
        chips[2].click()
        self.find("#s-learning-curves .data summary").click()
        self.settle()
        rows = self.texts("#s-learning-curves .data tbody tr")
        self.assertEqual(len(rows), 4)
        accuracy = next(curve for curve in run["curves"] if curve["metric"] == "accuracy")
        self.assertIn(f"{accuracy['value'][-1]:.4g}", next(row for row in rows if row.startswith("accuracy")))

    def test_the_pointer_shows_exact_values(self):
        run = synthetic.single()
        self.open(synthetic.view(run))
        left, top, width, height = self.show("#s-learning-curves .surface")
        self.mouse("mouseMoved", left + width / 2, top + height * .63, False)
        self.settle()
        self.until(lambda: "step" in self.text(".tip"), "a tooltip")
        lines = self.text(".tip").split("\n")
        self.assertIn(lines[lines.index("value") + 1],
                      {f"{value:.6g}" for curve in run["curves"] for value in curve["value"] if value is not None})

    def test_the_page_follows_the_window(self):
        for make in (lambda: synthetic.ensemble(60, 2), synthetic.single):
            self.open(synthetic.view(make()))
            for width in (700, 400, 1400):
                self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
                self.settle()
                self.assertLessEqual(self.run_script("return document.documentElement.scrollWidth"), width)
            self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def test_the_theme_can_be_switched(self):
        self.open(synthetic.view(synthetic.single()))
        colour = "return getComputedStyle(document.body).backgroundColor"
        light = self.run_script(colour)
        self.find("[aria-label='Light or dark']").click()
        self.assertNotEqual(self.run_script(colour), light)

    def test_the_page_prints(self):
        self.open(synthetic.view(synthetic.ensemble(120, 2)))
        paper = base64.b64decode(self.driver.print_page())
        self.assertTrue(paper.startswith(b"%PDF") and len(paper) > 50_000, len(paper))

    def test_paper_says_how_many_trials_it_leaves_out(self):
        for count, words in ((120, ["The first 40 of 120 rows."]), (30, [""])):
            self.open(synthetic.view(synthetic.ensemble(count)))
            self.run_script("dispatchEvent(new Event('beforeprint'))")
            self.assertEqual(self.run_script("return [...document.querySelectorAll('#s-trials .on-paper')].map((e) => "
                                             "e.textContent)"), words)

    def test_names_of_axes_stay_inside_the_chart(self):
        run = synthetic.ensemble(60)
        columns = run["trials"]["parameters"]
        run["trials"]["parameters"] = {f"{name}_".ljust(80, "x"): columns[name] for name in ("lr", "dropout")}
        self.open(synthetic.view(run))
        left, _, width, _ = self.show(PARALLEL)
        for start, end in self.run_script("return [...document.querySelectorAll('.axis-name')].map((e) => { const b = "
                                          "e.getBoundingClientRect(); return [b.left, b.right]; })"):
            self.assertTrue(left - 1 <= start < end <= left + width + 1, (left, start, end, width))

    def test_names_on_a_phone_are_readable(self):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True})
        try:
            self.open(synthetic.view(synthetic.ensemble(60)))
            self.assertTrue(self.run_script("const title = document.querySelector('.bar h1'); return title.scrollWidth "
                                            "<= title.clientWidth"))
            width = self.show(PARALLEL)[2]
            self.assertGreater(width, 11 * 60, "each axis has its room")
            self.assertLessEqual(self.run_script("return document.documentElement.scrollWidth"), 390)
        finally:
            self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def test_runs_are_compared(self):
        other = {**synthetic.single("failed", 5, "other-2"), "spec": synthetic.SPEC.replace("64", "128")}
        first = synthetic.single()
        self.open(synthetic.view(first, other,
                                 differences=[("train.args.batch", [64, 128]), ("name", ["fashion", None])]))
        self.assertEqual(self.texts("[aria-label='Fields of the specs that differ'] tbody tr"),
                         ["train.args.batch\t64\t128", "name\tfashion\t–"])
        next(each for each in self.driver.find_elements("css selector", ".toggle") if each.text == "As written").click()
        self.assertEqual(self.texts(".code .removed") + self.texts(".code .added"),
                         ["-   args: {lr: 0.001, batch: 64}\n", "+   args: {lr: 0.001, batch: 128}\n"])
        self.assertIn("other-2", self.text(".compare-table thead"))
        select = self.find(".chooser select")
        select.send_keys("other-2")
        self.until(lambda: "exit code 1" in self.text(".reason"), "the other run")

    def row_of(self, name):
        rows = [row.split("\t") for row in self.texts("[aria-label='Runs side by side'] tbody tr")]
        return next((row[1:] for row in rows if row[0] == name), None)

    def test_metrics_of_compared_runs_have_their_last_value_and_range(self):
        runs = [synthetic.single(), synthetic.single("failed", 5, "other-2")]
        self.open(synthetic.view(*runs))
        curves = [next(curve for curve in run["curves"] if curve["metric"] == "accuracy") for run in runs]
        self.assertEqual(self.row_of("accuracy: last (lowest to highest)"),
                         [f"{curve['value'][-1]:.6g} ({curve['lowest']:.6g} to {curve['highest']:.6g})"
                          for curve in curves])
        self.assertIsNone(self.row_of("Best"), "single runs have none")

    def test_of_three_runs_two_are_compared_by_the_fields_in_which_they_differ(self):
        runs = [synthetic.single("failed", seed, name) for seed, name in ((1, "a"), (2, "b"), (3, "c"))]
        self.open(synthetic.view(*runs, differences=[("train.args.lr", [.1, .2, .2]), ("launch.nodes", [1, 1, 2])]),
                  "#/compare/b,c")
        self.assertEqual(self.texts("[aria-label='Fields of the specs that differ'] tbody tr"), ["launch.nodes\t1\t2"])

    def test_specs_that_are_equal_are_said_to_be_equal(self):
        self.open(synthetic.view(synthetic.single(), synthetic.single("failed", 5, "other-2")))
        self.assertIn("All fields of the specs are equal.", self.text())


class Accessible(Browsing):
    def problems(self):
        self.driver.execute_script(AXE.read_text())
        found = self.driver.execute_async_script("const done = arguments[0]; axe.run(document, {resultTypes: "
                                                 "['violations']}).then((r) => done(r.violations.map((v) => [v.id, "
                                                 "v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200))])))")
        return found

    def test_axe_finds_nothing(self):
        if not AXE.exists():
            self.skipTest("axe-core is not here: run npm ci in templates/report")
        many = synthetic.single("failed")
        many["steps"]["ranks"] = [{**many["steps"]["ranks"][i % 8], "rank": i} for i in range(200)]
        documents = {"run": [many], "ensemble": [synthetic.ensemble(60, 2)],
                     "two": [synthetic.single(), synthetic.single("failed", 5, "b")]}
        for name, runs in documents.items():
            for theme in ("light", "dark"):
                with self.subTest(document=name, theme=theme):
                    self.open(synthetic.view(*runs))
                    self.run_script("document.documentElement.dataset.theme !== arguments[0] && arguments[0] === "
                                    "'dark' && document.querySelector('[aria-label=\"Light or dark\"]').click()", theme)
                    self.run_script("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
                    self.settle()
                    self.assertEqual(self.problems(), [])


if __name__ == "__main__":
    unittest.main()
