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
import importlib.util
import json
import os
import shutil
import threading

OPTIONS = ("--headless=new", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars",
           "--force-device-scale-factor=1", "--no-first-run", "--disable-background-networking",
           "--disable-component-update",
           "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1")
LOCAL = ("data:", "blob:", "about:", "file:", "chrome")
NO_SCRIPT = {"profile.managed_default_content_settings.javascript": 2}


def is_here():
    """Debian: chromium, chromium-driver, python3-selenium."""
    return bool(importlib.util.find_spec("selenium") and shutil.which("chromedriver") and shutil.which("chromium"))


def start(width=1280, height=900, dark=False, script=True):
    """A Chromium that finds no host but 127.0.0.1, until its quit()."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for option in (*OPTIONS, f"--window-size={width},{height}", *(["--force-dark-mode"] if dark else [])):
        options.add_argument(option)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # it refuses to start as root with one
    if not script:
        options.add_experimental_option("prefs", NO_SCRIPT)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    chromium = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
    chromium.set_page_load_timeout(30)
    chromium.set_script_timeout(60)
    look(chromium, "dark" if dark else "light")
    return chromium


def look(chromium, scheme):
    """As a user sees it who likes the scheme, "light" or "dark", and no motion."""
    features = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia",
                             {"features": [{"name": name, "value": value} for name, value in features.items()]})


@contextlib.contextmanager
def browser(**window):
    """start() for a block."""
    chromium = start(**window)
    try:
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
    sent = (message["params"] for message in messages if message["method"] == "Network.requestWillBeSent")
    return [request["request"]["url"] for request in sent]


def foreign_requests(chromium, address=None):
    """Those of them that leave this page: neither below `address` nor inside the browser or a file."""
    own = LOCAL + ((address + "/",) if address else ())
    return [url for url in requests(chromium) if not url.startswith(own)]


def errors(chromium, levels=("SEVERE",)):
    """What pages have reported as errors on the console since the last call."""
    return [entry["message"] for entry in chromium.get_log("browser") if entry["level"] in levels]
