"""A headless browser for tests of pages: Chromium, driven by Selenium, without a way to other machines.

    with served(folder) as address, browser() as chromium:
        chromium.get(address + "/index.html")
        wait_for(lambda: chromium.title, 20, "a title")
        assert not foreign_requests(chromium, address)

`chromium` is a selenium.webdriver.Chrome. It ends with its block, and so does its profile.
"""

import contextlib
import functools
import http.server
import json
import os
import threading

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

OPTIONS = ("--headless=new", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
           "--force-prefers-reduced-motion", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1")
LOCAL = ("data:", "blob:", "about:", "file:", "chrome:")


@contextlib.contextmanager
def browser(width=1280, height=900):
    """A Chromium that finds no host but 127.0.0.1."""
    options = Options()
    for option in (*OPTIONS, f"--window-size={width},{height}"):
        options.add_argument(option)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # it refuses to start as root with one
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    chromium = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
    try:
        chromium.set_page_load_timeout(30)
        yield chromium
    finally:
        chromium.quit()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextlib.contextmanager
def served(folder):
    """The address at which `folder` is served on this machine, at a port that is free."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def requests(chromium):
    """The addresses that pages have requested since the last call."""
    messages = (json.loads(entry["message"])["message"] for entry in chromium.get_log("performance"))
    return [message["params"]["request"]["url"] for message in messages if message["method"] == "Network.requestWillBeSent"]


def foreign_requests(chromium, address=None):
    """Those of them that leave this page: neither below `address` nor inside the browser or a file."""
    own = LOCAL + ((address + "/",) if address else ())
    return [url for url in requests(chromium) if not url.startswith(own)]


def errors(chromium):
    """What pages have reported as errors on the console since the last call."""
    return [entry["message"] for entry in chromium.get_log("browser") if entry["level"] == "SEVERE"]
