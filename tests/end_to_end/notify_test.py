"""Notifications of the real program: a local server that answers, fails, is slow or is not there, and commands."""

import http.server
import json
import threading
import time

import pytest

from reserved_port import reserved_port
from slipway_here import Place


class Server:
    """Answers each POST with the next of `statuses` (the last one stays) after `delay` seconds."""

    def __init__(self, statuses=(200,), delay=0, location=None):
        self.bodies, self.paths, self.statuses = [], [], list(statuses)
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = outer.statuses.pop(0) if len(outer.statuses) > 1 else outer.statuses[0]
                time.sleep(delay)
                outer.paths.append(self.path)
                outer.bodies.append((body, self.headers["Content-Type"]))
                self.send_response(status)
                if location:
                    self.send_header("Location", location)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_POST

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook/s3cret"

    def documents(self):
        return [json.loads(body) for body, _ in self.bodies]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def serve():
    servers = []

    def begin(*arguments, **options):
        servers.append(Server(*arguments, **options))
        return servers[-1]

    yield begin
    for server in servers:
        server.close()


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    place.program("report(1, loss=0.5)\n")
    return place


def notify(*entries):
    return "notify: " + json.dumps(entries)


def test_a_webhook_is_told_of_the_end(place, serve):
    server = serve()
    place.environment["MY_HOOK"] = server.url
    place.spec(notify({"on": "end", "webhook": "$MY_HOOK"}))
    place.slipway("run", "spec.yaml")
    document, = server.documents()
    assert server.bodies[0][1] == "application/json" and server.paths == ["/hook/s3cret"]
    assert document["schema"] == "slipway.notification/1" and document["event"] == "end"
    assert document["state"] == "succeeded" and document["run"] == place.run().name
    assert document["metrics"] == {"loss": 0.5} and "succeeded" in document["text"]
    assert not place.events("notify_failed")


def test_a_template_is_filled_and_escaped(place, serve):
    server = serve()
    place.program("print('\"quoted\" \\\\ back')\nsys.exit(3)\n")
    place.spec(notify({"on": ["end", "failure"], "webhook": server.url,
                       "template": '{"topic": "t", "message": "{event} {state}: {reason} {unchanged"}'}))
    place.slipway("run", "spec.yaml", status=1)
    document, = server.documents()
    assert document["topic"] == "t"
    assert document["message"].startswith("failure failed: ") and document["message"].endswith(" {unchanged")
    assert "exit status 3" in document["message"]


def test_a_server_in_trouble_is_tried_again(place, serve):
    server = serve(statuses=[500, 503, 200])
    place.spec(notify({"on": "end", "webhook": server.url}))
    place.slipway("run", "spec.yaml")
    assert len(server.bodies) == 3
    assert "warning" not in place.said


def test_a_refusal_is_not_tried_again(place, serve):
    server = serve(statuses=[404])
    place.spec(notify({"on": "end", "webhook": server.url}))
    place.slipway("run", "spec.yaml")
    assert len(server.bodies) == 1
    failed, = place.events("notify_failed")
    assert "404" in failed["reason"] and "s3cret" not in failed["reason"] + place.said


def test_a_slow_server_delays_the_end_by_seconds_only(place, serve):
    server = serve(delay=60)
    place.spec(notify({"on": "end", "webhook": server.url}))
    begin = time.monotonic()
    place.slipway("run", "spec.yaml")
    assert time.monotonic() - begin < 50, "it waits for no answer"
    failed, = place.events("notify_failed")
    assert "no answer within" in failed["reason"]
    assert place.json("status", "last")["phase"] == "succeeded"


def test_no_server_is_a_warning(place):
    with reserved_port() as port:
        place.spec(notify({"on": "end", "webhook": f"http://127.0.0.1:{port}/s3cret"}))
        place.slipway("run", "spec.yaml")
    assert "notification of 'end'" in place.said and "not affected" in place.said and "s3cret" not in place.said
    assert len(place.events("notify_failed")) == 1


def test_redirects_stay_with_http(place, serve, tmp_path):
    target = tmp_path / "target"
    server = serve(statuses=[307], location=f"file://{target}")
    place.spec(notify({"on": "end", "webhook": server.url}))
    place.slipway("run", "spec.yaml")
    assert len(place.events("notify_failed")) == 1
    again = serve()
    first = serve(statuses=[307], location=again.url)
    place.spec(notify({"on": "end", "webhook": first.url}))
    place.slipway("run", "spec.yaml")
    assert [document["event"] for document in again.documents()] == ["end"]


def test_a_variable_that_is_not_set_is_a_warning(place):
    place.spec(notify({"on": "end", "webhook": {"env": "NO_SUCH_HOOK"}}))
    place.slipway("run", "spec.yaml")
    assert "NO_SUCH_HOOK" in place.said


def test_a_command_finds_variables_and_a_document(place):
    place.program("import json, os\n"
                  "told = {name: value for name, value in os.environ.items() if name.startswith('SLIPWAY_')}\n"
                  "json.dump([told, json.load(sys.stdin), sys.argv[1:]], open('told.json', 'w'))\n", name="tell.py")
    place.spec(notify({"on": "end", "command": ["/usr/bin/python3", "tell.py", "$HOME;`id`"]}))
    place.slipway("run", "spec.yaml")
    told, document, words = json.loads((place.folder / "told.json").read_text())
    assert told["SLIPWAY_EVENT"] == "end" and told["SLIPWAY_STATE"] == "succeeded"
    assert told["SLIPWAY_RUN_DIR"] == document["folder"] == str(place.run())
    assert words == ["$HOME;`id`"], "no shell is involved"


@pytest.mark.parametrize("command, why", [(["sh", "-c", "echo no such user >&2; exit 4"], "no such user"),
                                          (["/no/such/program"], "/no/such/program"),
                                          (["sleep", "600"], "no answer within")])
def test_a_command_that_fails_is_a_warning(place, command, why):
    place.spec(notify({"on": "end", "command": command}))
    place.slipway("run", "spec.yaml")
    failed, = place.events("notify_failed")
    assert why in failed["reason"]


def test_each_new_best_of_an_ensemble_is_told_in_order(place, serve):
    server = serve()
    place.program("lr = float(sys.argv[sys.argv.index('--lr') + 1])\nreport(1, loss=lr)\n")
    place.spec("ensemble:\n  objective: {metric: loss, goal: minimize}\n  sampler: grid\n"
               "  space: {lr: {choice: [3.0, 4.0, 2.0, 1.0]}}\n" +
               notify({"on": ["best", "end"], "webhook": server.url}))
    place.slipway("run", "spec.yaml")
    told = server.documents()
    best = [float(document["best"].split()[1]) for document in told if document["event"] == "best"]
    assert best == sorted(best, reverse=True) and best[-1] == 1.0
    assert told[-1]["event"] == "end" and told[-1]["best"] == "loss 1" and told[-1]["trial"]


def test_the_end_of_a_resumed_ensemble_names_the_best_of_before(place, serve):
    server = serve()
    place.program("lr = float(sys.argv[sys.argv.index('--lr') + 1])\nreport(1, loss=lr)\n"
                  "sys.exit(lr > 3 and not os.path.exists(sys.argv[sys.argv.index('--mended') + 1]))\n")
    place.spec("ensemble:\n  objective: {metric: loss, goal: minimize}\n  sampler: grid\n  stop_on_same_failure: 0\n"
               "  space: {lr: {choice: [1.0, 4.0]}}\n" + notify({"on": ["best", "end"], "webhook": server.url}),
               args={"mended": str(place.folder / "mended")})
    place.slipway("run", "spec.yaml")
    (place.folder / "mended").touch()
    place.slipway("trials", "retry", "--failed", "last")
    before = len(server.documents())
    place.slipway("resume", "last")
    end, = server.documents()[before:]
    assert (end["event"], end["best"], end["trial"]) == ("end", "loss 1", "0")


def test_an_attempt_that_starts_again_is_a_failure(place, serve):
    server = serve()
    place.program("sys.exit(0 if os.environ['SLIPWAY_ATTEMPT'] == '2' else 3)\n")
    place.spec("resilience: {max_restarts: 1}\n" + notify({"on": ["failure", "end"], "webhook": server.url}))
    place.slipway("run", "spec.yaml")
    assert [document["event"] for document in server.documents()] == ["failure", "end"]
    assert "attempt 1" in server.documents()[0]["reason"]
    assert "attempt 1 ended" not in server.documents()[0]["reason"], "said once"
    first, second = place.events("running")
    assert "attempt 1 ended" not in first["reason"] and second["reason"].startswith("attempt 1 ended: ")
    assert "attempt 1" not in place.json("status")["reason"]


WORKFLOW = """name: flow
notify: {notify}
steps:
  good: {{command: ['true']}}
  bad: {{command: ['false'], retries: 1}}
"""


def test_a_workflow_tells_of_a_failed_step_and_of_its_end(place, serve):
    server = serve()
    place.environment["MY_HOOK"] = server.url
    note = json.dumps(["/bin/sh", "-c", 'echo "$SLIPWAY_EVENT $SLIPWAY_RUN_NAME $SLIPWAY_STATE" >> told'])
    (place.folder / "spec.yaml").write_text(WORKFLOW.format(
        notify=f'[{{on: [end, failure], webhook: $MY_HOOK}}, {{on: end, command: {note}}}]'))
    place.slipway("run", "spec.yaml", status=1)
    step, end = server.documents()
    assert step["event"] == "failure" and step["state"] == "running" and "step 'bad' failed" in step["reason"]
    assert end["event"] == "failure" and end["state"] == "failed" and end["name"] == "flow"
    assert (place.folder / "told").read_text() == "end flow failed\n", "commands work beside the file"


def test_a_workflow_without_a_server_ends_as_before(place):
    with reserved_port() as port:
        notify_nobody = f"[{{on: end, webhook: 'http://127.0.0.1:{port}/s3cret'}}]"
        (place.folder / "spec.yaml").write_text(WORKFLOW.format(notify=notify_nobody).replace("false", "true"))
        place.slipway("run", "spec.yaml")
    assert "not affected" in place.said and "s3cret" not in place.said


@pytest.mark.parametrize("entry, message", [
    ("{on: hang, command: [x]}", "a workflow has no notification 'hang'"),
    ("{on: end}", "either a command or a webhook"),
    ("{on: end, comand: [x]}", "did you mean 'command'"),
])
def test_a_wrong_entry_is_an_error_of_the_workflow(place, entry, message):
    (place.folder / "spec.yaml").write_text(WORKFLOW.format(notify=f"[{entry}]"))
    place.slipway("validate", "spec.yaml", status=2)
    assert message in place.said and "spec.yaml:2" in place.said


def test_secrets_are_shown_nowhere(place, serve):
    server = serve()
    place.spec(notify({"on": "end", "webhook": server.url}))
    shown = place.slipway("plan", "spec.yaml") + place.slipway("plan", "spec.yaml", "--json")
    place.slipway("run", "spec.yaml")
    assert server.bodies
    place.slipway("resume", "last", "--set", f"notify=[{{on: end, webhook: '{server.url}2'}}]")
    assert server.paths[-1].endswith("s3cret2")
    shown += place.slipway("status", "--json") + place.slipway("status") + place.slipway("explain")
    shown += place.slipway("report", "--json")
    run = place.run()
    for file in run.rglob("*"):
        if file.is_file() and file.name not in ("plan.json", "spec.yaml"):
            shown += file.read_text(errors="replace")
    assert "s3cret" not in shown
    for name in ("plan.json", "spec.yaml"):
        assert (run / name).stat().st_mode & 0o077 == 0, f"{name} is its owner's"


@pytest.mark.parametrize("entry, message", [
    ({"on": "end"}, "either a command or a webhook"),
    ({"on": "end", "command": ["a"], "webhook": "https://a.example/x"}, "either a command or a webhook"),
    ({"on": "ende", "command": ["a"]}, "expected one of 'end', 'failure', 'best', 'hang'"),
    ({"on": [], "command": ["a"]}, "about nothing"),
    ({"on": "end", "command": []}, "empty command"),
    ({"on": "end", "webhook": "ftp://a.example/s3cret"}, "http"),
    ({"on": "end", "webhook": "https://a.example/x", "template": "{\"text\": \"{statr}\"}"}, "did you mean 'state'"),
    ({"on": "end", "webhook": "https://a.example/x", "template": "{run}"}, "no JSON"),
    ({"on": "end", "command": ["a"], "template": "\"{run}\""}, "only a webhook"),
])
def test_a_wrong_entry_is_an_error_of_the_spec(place, entry, message):
    place.spec(notify(entry))
    place.slipway("validate", "spec.yaml", status=2)
    assert message in place.said
