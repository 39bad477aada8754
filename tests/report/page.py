"""The page of `slipway report` for a test: built from its assets as the program does, for headless Chromium."""

import json
import pathlib

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
