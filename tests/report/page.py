"""The page of `slipway report` for a test: built from its assets as the program does, opened in headless Chromium."""

import importlib.util
import json
import pathlib
import shutil

REPORT = pathlib.Path(__file__).resolve().parents[2] / "templates" / "report"


def embedded(document):
    """JSON in which no string can end the element that holds it."""
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def element_of(document):
    if document is None:
        return ""
    return f'<script type="application/json" id="slipway-view">{embedded(document)}</script>'


def page(document=None, summary="<h1>Summary</h1>", is_live=False):
    """The skeleton with style, script and document; each placeholder is looked for in the skeleton only."""
    parts = {
        "live": '<meta name="slipway-live" content="1">' if is_live else "",
        "style": f"<style>{(REPORT / 'dist/report.css').read_text()}</style>",
        "summary": summary,
        "view": element_of(document),
        "script": f"<script>{(REPORT / 'dist/report.js').read_text()}</script>",
    }
    text = (REPORT / "skeleton.html").read_text()
    pieces = []
    for name in ("live", "style", "summary", "view", "script"):
        before, text = text.split(f"<!-- slipway:{name} -->", 1)
        pieces += [before, parts[name]]
    return "".join(pieces + [text])


def has_browser():
    return bool(importlib.util.find_spec("selenium") and shutil.which("chromedriver") and shutil.which("chromium"))


def browser(width=1400, height=1000, dark=False, script=True):
    """Headless Chromium that cannot reach any host; keeps console and network logs."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                     "--force-device-scale-factor=1", "--hide-scrollbars",
                     "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--disable-background-networking",
                     "--disable-component-update",
                     f"--window-size={width},{height}", *(["--force-dark-mode"] if dark else [])):
        options.add_argument(argument)
    if not script:
        options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
    driver.set_script_timeout(60)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                           {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                                        {"name": "prefers-reduced-motion", "value": "reduce"}]})
    return driver


def errors_of(driver):
    """What the console says that is not mere information."""
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


def requests_of(driver):
    """Addresses that the page asked for, besides itself and data in it."""
    asked = []
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            asked.append(message["params"]["request"]["url"])
    return [url for url in asked if not url.startswith(("data:", "blob:", "file:", "about:", "chrome"))]
