#!/usr/bin/python3
"""The page as `slipway serve` delivers it: list, filter, open, live changes that keep the selection, compare."""

import http.server
import json
import queue
import threading
import time
import unittest
import urllib.parse

import page
import synthetic
from browsing import Browsing

TOKEN = "secret"
KEPT = ("run", "name", "kind", "engine", "nodes", "ranks", "tags", "phase", "created", "started", "ended", "progress",
        "best", "metrics")


class Runs:
    """What the server knows; `changes` is what it will tell."""

    def __init__(self):
        self.documents = {}
        self.changes = queue.Queue()
        self.refused = []

    def add(self, run):
        self.documents[run["run"]] = run

    def view_of(self, ids):
        differences = [("name", ids)] if len(ids) > 1 else ()
        return synthetic.view(*[self.documents[each] for each in ids], differences=differences)


def handler_of(runs):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            address = urllib.parse.urlsplit(self.path)
            query = urllib.parse.parse_qs(address.query)
            if query.get("token") != [TOKEN]:
                runs.refused.append(self.path)
                return self.send_error(403)
            if address.path == "/":
                return self.answer(page.page(is_live=True).encode(), "text/html; charset=utf-8")
            if address.path == "/api/runs":
                return self.answer(json.dumps({"runs": [{key: run[key] for key in KEPT}
                                                        for run in runs.documents.values()]}).encode())
            if address.path == "/workflow":
                return self.answer(f"<link rel=icon href='data:,'><h1>steps of {query['run'][0]}</h1>".encode(), "text/html; charset=utf-8")
            if address.path == "/api/view":
                return self.answer(json.dumps(runs.view_of(query["run"])).encode())
            return self.follow()

        def answer(self, body, kind="application/json"):
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def follow(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            while (document := runs.changes.get()) is not None:
                self.wfile.write(f"event: view\ndata: {json.dumps(document)}\n\n".encode())
                self.wfile.flush()

        def log_message(self, *_):
            pass
    return Handler


class Live(Browsing):
    def setUp(self):
        self.runs = Runs()
        for i in range(1000):
            name = f"old-{i:04}"
            run = (synthetic.single("failed" if i % 7 == 0 else "succeeded", 1, name) if i < 3 else
                   {**self.runs.documents[f"old-000{i % 3}"], "run": name, "curves": []})
            last = {"progress": {"done": 168, "total": None, "unit": "steps", "left_s": None},
                    "metrics": {"accuracy": 0.875, "loss": None},
                    "best": {"metric": "accuracy", "goal": "maximize", "value": 0.875}}
            self.runs.add({**run, **last, "created": synthetic.START + i, "tags": ["paper"] if i < 5 else []})
        self.runs.add({**synthetic.ensemble(100, run="search-live"), "created": synthetic.START + 5000,
                       "metrics": None})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler_of(self.runs))
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.driver.get(f"http://127.0.0.1:{self.server.server_port}/?token={TOKEN}")
        self.until(lambda: len(self.texts(".grid tbody tr")) > 5, "the list")

    def tearDown(self):
        self.runs.changes.put(None)
        self.driver.get("about:blank")
        self.server.shutdown()
        self.server.server_close()
        self.assertEqual(self.runs.refused, [])
        super().tearDown()

    def test_lists_a_thousand_runs_newest_first(self):
        self.assertIn("1,001 of 1,001", self.text(".count"))
        self.assertIn("search-live", self.text(".grid tbody tr:not(.spacer)"))

    def test_lists_progress_best_and_last_values_of_single_runs(self):
        row = self.text(".grid tbody tr[aria-rowindex='3']")
        for words in ("0.875", "accuracy 0.875, loss NaN", "168 steps"):
            self.assertIn(words, row)

    def test_filters_by_state_and_tag(self):
        search = self.find(".search")
        search.send_keys("tags=paper")
        self.settle()
        self.assertIn("5 of 1,001", self.text(".count"))
        next(chip for chip in self.driver.find_elements("css selector", ".chips .toggle")
             if chip.text.startswith("failed")).click()
        self.assertIn("2 of 1,001", self.text(".count"))

    def test_follows_a_run_and_keeps_the_selection(self):
        self.find(".grid tbody tr[aria-rowindex='2'] td:nth-child(2)").click()
        self.until(lambda: "trials" in self.text(".first-line"), "the run")
        self.find(".grid tbody tr[aria-rowindex='2']").click()
        self.find("#s-trials .search").send_keys("complete")
        self.settle()
        self.assertEqual(self.selected(), 1)
        chosen = self.text(".chosen-trials")
        self.runs.changes.put(synthetic.view(synthetic.ensemble(140, run="search-live")))
        self.until(lambda: "of 168 trials" in self.text(".first-line"), "the change")
        self.assertEqual((self.selected(), self.text(".chosen-trials")), (1, chosen))
        self.assertEqual(self.run_script("return document.querySelector('#s-trials .search').value"), "complete")
        self.assertIn("live", self.text(".live-status"))

    def test_opens_a_workflow_as_a_page_of_its_own(self):
        self.runs.add({**self.runs.documents["old-0001"], "run": "flow-1", "kind": "workflow",
                       "created": synthetic.START + 9000})
        self.driver.refresh()
        self.until(lambda: "flow-1" in self.text(".grid tbody tr:not(.spacer)"), "the workflow")
        self.find(".grid tbody tr[aria-rowindex='2'] td:nth-child(2)").click()
        self.until(lambda: self.text("h1") == "steps of flow-1", "its page")

    def test_compares_runs_that_are_ticked(self):
        self.find(".search").send_keys("old-000")
        self.settle()
        for row in (2, 3):
            self.find(f".grid tbody tr[aria-rowindex='{row}'] .choose").click()
            self.settle()
        self.find(".primary").click()
        self.until(lambda: "Side by side" in self.text(), "the comparison")
        self.assertEqual(len(self.texts("[aria-label='Runs side by side'] thead th")), 2)
        self.assertEqual(self.texts("[aria-label='Fields of the specs that differ'] tbody tr"),
                         ["name\told-0008\told-0009"])

    def test_says_when_the_server_has_gone(self):
        self.find(".grid tbody tr[aria-rowindex='2'] td:nth-child(2)").click()
        self.until(lambda: "live" in self.text(".live-status"), "the run")
        self.runs.changes.put(None)
        self.server.shutdown()
        self.server.server_close()
        self.until(lambda: "connection lost" in self.text(".live-status"), "the loss")
        time.sleep(0.1)
        self.driver.get_log("browser")


if __name__ == "__main__":
    unittest.main()
