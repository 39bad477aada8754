#!/usr/bin/python3
"""The page opens in a real browser, shows the document's numbers, and nothing in the data becomes a script."""

import base64
import gzip
import json
import unittest
import unittest.mock

import page
import synthetic
from browsing import Browsing

HOSTILE = ["<img src=x onerror='window.hacked=1'>", "</script><script>window.hacked=1</script>",
           "javascript:window.hacked=1", "\u202egnp.exe", "a\x00b\x1b[31mred", "'\"><svg onload=window.hacked=1>",
           "x" * 5000]


def hostile(value, count=0):
    """The same document, with every free text replaced by something hostile."""
    kept = {"kind", "schema", "phase", "state", "goal", "part", "event", "unit"}
    if isinstance(value, dict):
        return {HOSTILE[i % 6] + key if parent_is_free(value, key) else key:
                each if key in kept else hostile(each, count + i) for i, (key, each) in enumerate(value.items())}
    if isinstance(value, list):
        return [hostile(each, count + i) for i, each in enumerate(value)]
    return HOSTILE[count % len(HOSTILE)] + value if isinstance(value, str) else value


def parent_is_free(value, key):
    return "slipway" in value and key != "slipway"


class Page(Browsing):
    def test_of_a_run_shows_state_last_values_progress_and_time_left(self):
        run = synthetic.single()
        self.open(synthetic.view(run))
        line = self.text(".first-line")
        last = {curve["metric"]: curve["value"][-1] for curve in run["curves"]}
        for words in ("running", f"loss\n{last['loss']:.4g}", f"accuracy\n{last['accuracy']:.4g}", "and 1 more",
                      "3,990 of 8,000 steps", "50 %", "7 min 25 s"):
            self.assertIn(words, line)
        self.assertNotIn("Best", line)
        self.assertEqual(self.run_script("return document.getElementById('slipway-summary')"), None)

    def test_of_a_run_without_metrics_claims_no_best_value(self):
        self.open(synthetic.view({**synthetic.single(), "curves": []}))
        self.assertEqual(self.texts(".fact-label"), ["Progress", "Time left"])

    def test_of_a_run_has_its_sections(self):
        self.open(synthetic.view({**synthetic.single("failed"), "gpus": synthetic.gpus()}))
        self.assertEqual(self.texts(".contents a"),
                         ["Learning curves", "Failures", "Time", "Attempts", "Events", "Spec", "Provenance"])
        self.assertIn("rank 5 on n2 ended with exit code 1", self.text(".reason"))
        self.assertIn("rank failed", self.text(".reason .badge"))
        self.assertIn("rank 5 (n2)", self.text("[aria-label='Step time by rank']"))
        self.assertIn("by way staged: clip_norm is set.", self.text("[aria-label='Step time by rank']"))
        self.assertEqual(self.text(".late .bar-name"), "straggler 5 n2")
        self.assertIn("RuntimeError: out of memory", self.text(".log"))
        self.assertNotIn("[31m", self.text(".log"))
        self.assertEqual(self.texts("[aria-label='Accounting'] tbody tr:last-child td"), ["sum", "25 min", "100.0 %"])
        facts = dict(zip(self.texts(".facts dt"), self.texts(".facts dd")))
        self.assertEqual(facts["In the queue"], "40 s")
        self.assertEqual((facts["CPU energy"], facts["GPU energy"]), ("0.02556 kWh", "0.1806 kWh"))
        self.assertEqual((facts["GPU memory, at most"], facts["GPU utilisation"]), ("66.1 GiB", "50.0 %"))
        self.assertEqual(facts["Least busy GPU"], "2.0 %, gpu 1 of n2")
        self.assertEqual(self.text("pre[aria-label=Spec]"), synthetic.SPEC)

    def test_of_a_run_without_a_team_shows_times_of_the_whole_attempt(self):
        run = synthetic.single("failed")
        whole = {"step_s": 100, "compute_s": 100, "wait_s": 0, "input_s": 0}
        ranks = [{**rank, **whole, "exchange_s": 5 if rank["rank"] == 5 else 40} for rank in run["steps"]["ranks"]]
        run["steps"] = {**run["steps"], "team": "", "steps": 1, "ranks": ranks}
        self.open(synthetic.view(run))
        self.assertIn("times of the whole attempt", self.text("[aria-label='Step time by rank']"))
        self.assertNotIn("steps of team", self.text("[aria-label='Step time by rank']"))
        self.assertEqual(self.text(".late .bar-name"), "straggler 5 n2")

    def test_of_two_ranks_names_the_one_that_is_clearly_slower(self):
        run = synthetic.single("failed")
        of_four_and_five = run["steps"]["ranks"][4:6]
        run["steps"] = {**run["steps"], "ranks": of_four_and_five}
        self.open(synthetic.view(run))
        self.assertEqual(self.texts(".late .bar-name"), ["straggler 5 n2"])
        run["steps"]["ranks"] = [{**rank, "compute_s": .08} for rank in of_four_and_five]
        self.open(synthetic.view(run))
        self.assertEqual(self.texts(".late .bar-name"), [])
        self.assertIn("No rank is a straggler.", self.text("[aria-label='Step time by rank']"))

    def test_of_an_ensemble_shows_the_numbers_of_the_document(self):
        run = synthetic.ensemble(300)
        self.open(synthetic.view(run))
        trials = run["trials"]
        best = trials["rank"].index(1)
        first = self.texts(".grid tbody tr[aria-rowindex='2'] td")
        self.assertEqual(first[:4], [str(best), "complete", "1", f"{trials['value'][0][best]:.4g}"])
        self.assertEqual(self.run_script("return document.querySelectorAll('.grid tbody tr[aria-rowindex=\"2\"] "
                                         "td')[3].title"), repr(trials["value"][0][best]))
        self.assertEqual(self.text("[aria-label=Importance] .bar-row .bar-value"), "58.0 %")
        self.assertIn(f"lowest, trial {best}", self.text(".first-line"))
        space = dict(zip(self.texts("[aria-label='Search space'] tbody td:first-child"), self.texts("[aria-label='Search space'] tbody td:last-child")))
        self.assertEqual((space["momentum"], space["optimizer"]), ("0.5 to 0.99", "adam, sgd, lamb"))

    def last_bar_of_trials(self, run, made):
        """How far to the right the last bar of the timeline stands: 0 to 1."""
        from selenium.webdriver.common.keys import Keys
        self.open({**synthetic.view(run), "made": made})
        left, _, width, _ = self.show("#s-timeline .surface")
        self.run_script("document.querySelector('#s-timeline .surface').focus()")
        self.keys(Keys.ARROW_LEFT)
        right = self.run_script("return document.querySelector('.tip').getBoundingClientRect().right")
        return (right - left) / width

    def test_the_timeline_of_trials_ends_with_the_run_however_late_it_is_read(self):
        run = synthetic.ensemble(60, phase="succeeded")
        a_month_later = run["ended"] + 30 * 86400
        self.assertGreater(self.last_bar_of_trials(run, a_month_later), .6)
        lost = {**run, "phase": "lost", "ended": None}
        lost["phases"] = [*run["phases"][:-1], {**run["phases"][-1], "to": run["ended"]}]
        self.assertGreater(self.last_bar_of_trials(lost, a_month_later), .6)
        self.assertIn("last sign", self.text(".first-line"))

    def test_a_failure_shows_the_end_of_its_log(self):
        run = synthetic.single("failed")
        run["failures"][0]["lines"] = [f"line {i}" for i in range(200)] + ["the last words"]
        self.open(synthetic.view(run))
        self.show(".log")
        self.assertTrue(self.run_script(
            "const log = document.querySelector('.log'), text = document.createRange();"
            "text.setStart(log.firstChild, log.textContent.length - 5);"
            "text.setEnd(log.firstChild, log.textContent.length);"
            "const box = log.getBoundingClientRect(), end = text.getBoundingClientRect();"
            "return log.scrollHeight > log.clientHeight && end.top >= box.top && end.bottom <= box.bottom"))

    def test_the_provenance_is_written_for_people(self):
        run = synthetic.single()
        run["provenance"] = {"time": synthetic.START, "python": {"version": "3.11.2", "packages": {"numpy": "1.24.2"}},
                             "files": [{"path": "/a/train.py", "bytes": 2048, "crc32c": "46e923dc"}]}
        self.open(synthetic.view(run))
        facts = dict(zip(self.texts("#s-provenance dt"), self.texts("#s-provenance dd")))
        self.assertRegex(facts["Recorded"], r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$")
        self.assertEqual(facts["Files"], "/a/train.py (2 KiB, CRC32C 46e923dc)")
        self.find("#s-provenance dd summary").click()
        self.assertIn("packages (1)\nnumpy 1.24.2", self.text("#s-provenance dl"))

    def test_events_of_more_than_one_day_have_dates(self):
        run = synthetic.single()
        self.open(synthetic.view(run))
        self.assertRegex(self.text(".events tbody td"), r"^\d\d:\d\d:\d\d$")
        run["events"][-1]["time"] += 3 * 86400
        self.open(synthetic.view(run))
        self.assertRegex(self.text(".events tbody td"), r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$")

    def test_hostile_texts_stay_texts(self):
        for make in (lambda: synthetic.ensemble(40, 2), lambda: synthetic.single("failed")):
            self.open(synthetic.view(hostile(make())))
            for details in self.driver.find_elements("css selector", "details"):
                self.run_script("arguments[0].open = true", details)
            self.settle()
            self.assertIsNone(self.run_script("return window.hacked ?? null"))
            self.assertEqual(self.run_script("return document.querySelectorAll('img, iframe, object, "
                                             "script[src]').length"), 0)
            self.assertIn("onerror=", self.text())
            self.assertNotIn("\u202e", self.text())
            self.assertLessEqual(self.run_script("return document.documentElement.scrollWidth"), 1400)

    def test_missing_members_are_tolerated(self):
        null = {key: None for key in synthetic.ensemble(3)}
        for run in ({}, null, {**null, "kind": "ensemble"}, {"kind": "ensemble", "trials": {"number": []}},
                    {"kind": "ensemble", "trials": {"number": [4], "value": [[None]]}},
                    {"curves": [{"metric": "loss", "value": [None, None], "step": [0, 1]}]},
                    {"steps": {"ranks": [{"rank": 0}]}, "accounting": {}, "failures": [{}], "events": [{}]}):
            self.open({"runs": [run]})
            self.assertNotIn("could not", self.text())
            self.assertTrue(self.text(".pill"))
        self.open({"runs": []})
        self.assertIn("the document has no run", self.text("[role=alert]"))

    def test_the_document_may_be_compressed(self):
        packed = base64.b64encode(gzip.compress(json.dumps(synthetic.view(synthetic.single())).encode())).decode()
        element = f'<script type="application/gzip" id="slipway-view">{packed}</script>'
        with unittest.mock.patch.object(page, "element_of", lambda _: element):
            self.open({})
        self.assertIn("3,990 of 8,000 steps", self.text(".first-line"))

    def test_one_trial_is_enough(self):
        run = synthetic.ensemble(1)
        self.open(synthetic.view(run))
        self.assertEqual(len(self.texts(".grid tbody tr")), 1)

    def test_texts_and_booleans_are_values(self):
        self.open(synthetic.view(synthetic.ensemble(30)))
        cells = " ".join(self.texts(".grid tbody td"))
        for word in ("adam", "true", "false"):
            self.assertIn(word, cells)


class WithoutScript(Browsing):
    SCRIPT = False

    def test_the_summary_is_shown(self):
        self.open(synthetic.view(synthetic.single()), summary="<h1>fashion</h1><p>state: running</p>")
        self.assertEqual(self.find("#slipway-summary p").text, "state: running")


if __name__ == "__main__":
    unittest.main()
