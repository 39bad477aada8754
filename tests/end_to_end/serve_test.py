#!/usr/bin/python3
"""`slipway serve`: the real program, asked by real clients, some of them hostile."""

import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.parse

import pytest

from waiting import wait_for

PROGRAM = os.environ["SLIPWAY_PROGRAM"]
PATIENCE_S = 60
SPEC = """\
name: small
launch: {engine: local, ranks_per_node: 1}
train: {command: [sh, -c, 'echo "{\\"step\\":1,\\"metrics\\":{\\"loss\\":2.5}}" >> "$SLIPWAY_METRICS"']}
"""


def slipway(place, *words):
    return subprocess.run([PROGRAM, *words], cwd=place, env=environment(place), capture_output=True, text=True,
                          timeout=60)


def environment(place):
    return {**os.environ, "SLIPWAY_RUNS": str(place / "runs"), "TMPDIR": str(place)}


@pytest.fixture(scope="module")
def ended_run(tmp_path_factory):
    """The folder of a run that has really been carried out."""
    place = tmp_path_factory.mktemp("ended")
    (place / "exp.yaml").write_text(SPEC)
    done = slipway(place, "run", "exp.yaml", "--quiet")
    assert done.returncode == 0, done.stdout + done.stderr
    folder, = (place / "runs").iterdir()
    return folder


def add_run(place, ended_run, number, names=None):
    """A copy of the run, under an id of its own; `names`: only these files, and none that is changed."""
    name = f"small-20260101-{number // 3600:02}{number // 60 % 60:02}{number % 60:02}-{number:04x}"
    if names:
        (place / "runs" / name).mkdir()
        for each in names:
            os.link(ended_run / each, place / "runs" / name / each)
        return name
    shutil.copytree(ended_run, place / "runs" / name)
    state = place / "runs" / name / "state.json"
    state.write_text(json.dumps({**json.loads(state.read_text()), "run": name}))
    return name


class Server:
    def __init__(self, place, *words, stdout=subprocess.PIPE):
        self.process = subprocess.Popen([PROGRAM, "serve", "--json", *words], cwd=place, env=environment(place),
                                        stdout=stdout, stderr=subprocess.PIPE, text=True)
        if stdout != subprocess.PIPE:
            return
        text = ""
        while not text.endswith("}\n"):
            line = self.process.stdout.readline()
            assert line, self.process.stderr.read()
            text += line
        self.document = json.loads(text)
        self.port = self.document["port"]
        self.url = urllib.parse.urlsplit(self.document["url"])
        self.token = urllib.parse.parse_qs(self.url.query)["token"][0]

    def ask(self, path, token=True, method="GET", body=None, **headers):
        """Status, headers and body."""
        if token:
            path += ("&" if "?" in path else "?") + "token=" + self.token
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        with contextlib.closing(connection):
            connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    def runs(self):
        status, _, body = self.ask("/api/runs")
        assert status == 200
        return json.loads(body)["runs"]

    def follow(self, run):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        connection.request("GET", f"/api/changes?run={run}&token={self.token}")
        return connection.getresponse()

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        begin = time.monotonic()
        status = self.process.wait(PATIENCE_S)
        return status, time.monotonic() - begin


@pytest.fixture
def place(tmp_path):
    (tmp_path / "runs").mkdir()
    return tmp_path


@pytest.fixture
def serve(place):
    servers = []

    def start(*words, **options):
        servers.append(Server(place, *words, **options))
        return servers[-1]

    yield start
    for server in servers:
        if server.process.poll() is None:
            server.process.kill()
        server.process.communicate()


def next_event(stream):
    """The document of the next event `view`."""
    name = None
    while line := stream.readline().decode().rstrip("\n"):
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            assert name == "view"
            assert stream.readline() == b"\n"
            return json.loads(line.removeprefix("data: "))
    raise AssertionError("the stream has ended")


def everything_below(folder):
    return sorted((str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*"))


def test_nothing_without_the_token(place, serve, ended_run):
    add_run(place, ended_run, 1)
    server = serve()
    answers = [server.ask(path, token=False, method=method, Cookie=cookie)
               for path in ("/", "/api/runs", "/api/view?run=small", "/nowhere", "/?token=" + "0" * 32, "/favicon.ico")
               for method in ("GET", "POST")
               for cookie in ("", f"slipway-{server.port}={'0' * 32}")]
    assert {status for status, _, _ in answers} == {403}
    assert len({body for _, _, body in answers}) == 1, "all refusals are the same"
    assert b"small" not in answers[0][2] and server.token.encode() not in answers[0][2]


def test_the_token_moves_from_the_url_into_a_cookie(serve):
    server = serve()
    status, headers, body = server.ask("/")
    assert (status, headers["Location"], body) == (303, "/", b"")
    cookie, *marks = headers["Set-Cookie"].split("; ")
    assert cookie == f"slipway-{server.port}={server.token}"
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(marks)
    status, headers, body = server.ask("/", token=False, Cookie=cookie)
    assert status == 200 and headers["Content-Type"].startswith("text/html")
    assert b'name="slipway-live"' in body and server.token.encode() not in body
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["Referrer-Policy"] == "no-referrer" and headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in headers
    assert server.ask("/api/runs", token=False, Cookie=cookie)[0] == 200
    assert server.ask("/api/runs", token=False, Cookie=cookie, Sec_Fetch_Site="cross-site")[0] == 403


def test_foreign_names_are_refused(serve):
    server = serve()
    for host in ("evil.example", f"evil.example:{server.port}", "localhost.evil.example"):
        assert server.ask("/api/runs", Host=host)[0] == 403, host
    for host in ("localhost:1", f"127.0.0.1:{server.port}", "[::1]"):
        assert server.ask("/api/runs", Host=host)[0] == 200, host


def test_only_loopback_is_listened_on(serve):
    server = serve()
    table = pathlib.Path("/proc/net/tcp").read_text() + pathlib.Path("/proc/net/tcp6").read_text()
    lines = [line.split() for line in table.splitlines() if f":{server.port:04X} " in line]
    listening = {words[1] for words in lines if words[3] == "0A" and words[1].endswith(f":{server.port:04X}")}
    assert listening == {f"0100007F:{server.port:04X}"}


def test_another_user_gets_nothing(place, serve, ended_run):
    add_run(place, ended_run, 1)
    server = serve()
    ask = ("import http.client, sys, os\n"
           "os.getuid() == 0 and os.setuid(65534)\n"
           "c = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1])); c.request('GET', '/api/runs')\n"
           "print(c.getresponse().status)\n")
    asked = subprocess.run([sys.executable, "-c", ask, str(server.port)], capture_output=True, text=True, timeout=60)
    assert asked.stdout == "403\n", asked.stderr
    assert server.token.encode() not in pathlib.Path(f"/proc/{server.process.pid}/cmdline").read_bytes()
    written = [path for path in place.rglob("*") if path.is_file() and server.token.encode() in path.read_bytes()]
    assert not written, "the token stands in no file"


@pytest.mark.parametrize("mode, is_warned", [(0o644, True), (0o600, False)])
def test_a_url_in_a_file_that_others_can_read_is_warned_of(place, serve, mode, is_warned):
    with open(place / "out", "w") as out:
        os.fchmod(out.fileno(), mode)
        server = serve(stdout=out)
    wait_for(lambda: (place / "out").read_text().endswith("}\n"))
    server.process.terminate()
    _, errors = server.process.communicate(timeout=PATIENCE_S)
    assert ("others can read" in errors) == is_warned, errors


def test_nothing_is_changed(place, serve, ended_run):
    run = add_run(place, ended_run, 1)
    before = everything_below(place)
    server = serve()
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "HEAD"):
        assert server.ask("/api/runs", method=method)[0] == 405, method
    assert server.ask("/api/runs")[0] == 200
    assert server.ask(f"/api/view?run={run}")[0] == 200
    assert server.end()[0] == 0
    assert everything_below(place) == before


def test_a_run_is_named_only_by_its_id(place, serve, ended_run):
    run = add_run(place, ended_run, 1)
    (place / "other").mkdir()
    shutil.copytree(ended_run, place / "other" / "secret")
    server = serve()
    for name in ("../other/secret", str(place / "other/secret"), "..", ".", "", run + "/", "./" + run, run + "\0",
                 run + "/../../other/secret", "last", run[:10], "x" * 5000):
        status, _, body = server.ask("/api/view?run=" + urllib.parse.quote(name, safe=""))
        assert status == 404, (name, body)
        assert server.ask("/api/changes?run=" + urllib.parse.quote(name, safe=""))[0] == 404, name
    assert json.loads(server.ask(f"/api/view?run={run}")[2])["runs"][0]["run"] == run
    assert server.ask("/api/view?run=%zz")[0] in (400, 403)
    assert server.ask("/../../etc/passwd")[0] == 404


FLOW = """name: flow
steps:
  train: {experiment: exp.yaml}
  say: {command: [echo, '<b>hi</b>'], after: [train]}
"""


def test_a_workflow_has_a_page_of_its_steps(place, serve):
    (place / "exp.yaml").write_text(SPEC)
    (place / "flow.yaml").write_text(FLOW)
    assert slipway(place, "run", "flow.yaml", "--quiet").returncode == 0
    server = serve()
    row, = wait_for(lambda: [row for row in server.runs() if row.get("progress")], PATIENCE_S, "the whole row")
    assert row["kind"] == "workflow" and row["progress"] == {"done": 2, "total": 2, "unit": "steps", "left_s": None}
    status, headers, body = server.ask("/workflow?run=" + row["run"])
    page = body.decode()
    assert status == 200 and headers["Content-Type"].startswith("text/html") and "default-src 'none'" in page
    assert "<svg" in page and ">train<" in page and "loss 2.5" in page and "refresh" not in page
    assert f'./#/run/{row["run"]}%2Ftrain' in page and "%2Fsay" not in page, "only runs have a page of their own"
    view = json.loads(server.ask(f'/api/view?run={row["run"]}%2Ftrain')[2])["runs"][0]
    assert view["run"].startswith("small-") and view["phase"] == "succeeded"
    for step in ("say", "..", "../..", "", "train/..", "train\0"):
        name = urllib.parse.quote(f'{row["run"]}/{step}', safe="")
        assert server.ask("/api/view?run=" + name)[0] == 404, step
    assert server.ask("/workflow?run=" + view["run"])[0] == 404
    assert server.ask("/workflow")[0] == 400 and server.ask("/workflow?run=x", token=False)[0] == 403


def test_the_page_of_a_workflow_follows_it(place, serve):
    (place / "flow.yaml").write_text("name: flow\nsteps: {wait: {command: [sh, -c, 'until [ -e go ]; do sleep 0.05; done']}}\n")
    run = subprocess.Popen([PROGRAM, "run", "flow.yaml", "--quiet"], cwd=place, env=environment(place),
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: list(place.glob("runs/flow-*/steps/wait/log")), PATIENCE_S, "a step")
    server = serve()
    folder, = place.glob("runs/flow-*")
    page = server.ask("/workflow?run=" + folder.name)[2].decode()
    assert 'http-equiv="refresh"' in page and "1 running" in page
    (place / "go").touch()
    run.wait()
    assert "1 done" in server.ask("/workflow?run=" + folder.name)[2].decode()


def test_the_list_says_what_ls_says(place, serve, ended_run):
    for number in range(3):
        add_run(place, ended_run, number)
    states = [place / "runs" / f"small-20260101-00000{number}-{number:04x}" / "state.json" for number in range(3)]
    states[1].write_text("{")
    gone = json.loads(states[2].read_text())
    states[2].write_text(json.dumps({**gone, "phase": "running", "cause": None, "ended": ""}))
    listed = json.loads(slipway(place, "ls", "--json").stdout)["runs"]
    rows = serve().runs()
    assert [(row["run"], row["phase"], row["reason"]) for row in rows] == \
           [(row["run"], row["phase"], row["reason"]) for row in listed]
    assert [row["phase"] for row in rows] == ["succeeded", "unreadable", "lost"]
    assert rows[0]["name"] == "small" and rows[0]["kind"] == "single" and rows[0]["tags"] == []
    assert rows[0]["created"] <= rows[0]["started"] <= rows[0]["ended"]


def test_broken_folders_neither_hang_nor_kill_it(place, serve, ended_run):
    sound, damaged, pipe, huge, metrics = (add_run(place, ended_run, number) for number in range(5))
    runs = place / "runs"
    (runs / damaged / "state.json").write_text("[1]")
    (runs / pipe / "state.json").unlink()
    os.mkfifo(runs / pipe / "state.json")
    with open(runs / huge / "state.json", "w") as state:
        state.truncate(40 << 30)
    (runs / metrics / "attempt-1/metrics.jsonl").unlink(missing_ok=True)
    os.mkfifo(runs / metrics / "attempt-1/metrics.jsonl")
    os.mkfifo(runs / metrics / "trials.db")
    (runs / "loop").symlink_to("loop")
    (runs / "no-run").mkdir()
    server = serve()
    phases = {row["run"]: (row["phase"], row["reason"]) for row in server.runs()}
    assert {run for run, (phase, _) in phases.items() if phase == "unreadable"} == {damaged, pipe, huge}
    assert "is not a file" in phases[pipe][1] and "42.9 GB" in phases[huge][1]
    for run in (damaged, pipe, huge):
        status, _, body = server.ask(f"/api/view?run={run}")
        assert status == 500 and json.loads(body)["schema"] == "slipway.error/1", body
    for run in (sound, metrics):
        assert server.ask(f"/api/view?run={run}")[0] == 200, run
    assert server.ask(f"/api/view?run={sound}&run={metrics}")[0] == 200
    assert len(server.runs()) == 5


def test_events_tell_of_growing_metrics(place, serve, ended_run):
    run = add_run(place, ended_run, 1)
    server = serve()
    stream = server.follow(run)
    assert stream.status == 200 and stream.headers["Content-Type"] == "text/event-stream"
    first = next_event(stream)
    assert first["schema"] == "slipway.view/1" and first["runs"][0]["run"] == run
    count = first["runs"][0]["curves"][0]["count"]
    wrote = time.monotonic()
    for further in (1, 2):
        with open(place / "runs" / run / "attempt-1/metrics.jsonl", "a") as metrics:
            metrics.write('{"time":5,"step":%d,"metrics":{"loss":1.5}}\n' % (further + 1))
        event = next_event(stream)
        assert event["runs"][0]["curves"][0]["count"] == count + further
        assert event["runs"][0]["curves"][0]["value"][-1] == 1.5
    assert time.monotonic() - wrote > 0.9, "once a second at most"
    stream.close()


def test_a_stream_ends_with_its_run(place, serve, ended_run):
    run = add_run(place, ended_run, 1)
    stream = serve().follow(run)
    next_event(stream)
    shutil.rmtree(place / "runs" / run)
    while stream.readline():
        pass


def test_slow_clients_block_nobody(place, serve, ended_run):
    run = add_run(place, ended_run, 1)
    server = serve()
    stream = server.follow(run)
    next_event(stream)
    with contextlib.ExitStack() as slow:
        for _ in range(100):
            client = slow.enter_context(contextlib.closing(socket.create_connection(("127.0.0.1", server.port))))
            client.sendall(b"GET / HT")
        begin = time.monotonic()
        assert len(server.runs()) == 1
        assert server.ask(f"/api/view?run={run}")[0] == 200
        print(f"with 100 slow clients: {time.monotonic() - begin:.3f} s")
        assert time.monotonic() - begin < 12, "the slow ones are given up after 15 s"
        (place / "runs" / run / "events.jsonl").write_text("")
        next_event(stream)  # who has shown the token keeps its connection
        status, took = server.end()
        assert status == 0 and took < 10


def test_one_who_does_not_read_blocks_nobody(place, serve, ended_run):
    run = add_run(place, ended_run, 1)
    lines = [json.dumps({"time": 5, "step": step, "metrics": {"m%d" % m: step * m for m in range(20)}})
             for step in range(500)]
    (place / "runs" / run / "attempt-1/metrics.jsonl").write_text("\n".join(lines) + "\n")
    server = serve()
    with contextlib.closing(socket.socket()) as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", server.port))
        for _ in range(20):
            deaf.sendall(f"GET /api/view?run={run}&token={server.token} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert len(server.runs()) == 1
        assert server.end()[1] < 10


@pytest.mark.parametrize("request_bytes", [
    b"\0\1\2\3\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\r\n" * 100,
    b"GET / HTTP/1.1\r\nHost: " + b"x" * 50_000,
    b"GET /" + b"a" * 50_000 + b" HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 10_000 + b"\r\n",
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n"])
def test_what_is_no_sound_request_is_refused(serve, request_bytes):
    server = serve()
    with contextlib.closing(socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S)) as client:
        with contextlib.suppress(OSError):
            client.sendall(request_bytes)
            client.shutdown(socket.SHUT_WR)
            answer = client.recv(100)
            assert answer == b"" or answer.startswith(b"HTTP/1.1 4"), answer
    assert server.runs() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_it_ends_at_once(place, serve, ended_run, number):
    run = add_run(place, ended_run, 1)
    server = serve()
    streams = [server.follow(run) for _ in range(5)]
    for stream in streams:
        next_event(stream)
    status, took = server.end(number)
    assert status == 0
    assert took < 10
    assert all(stream.read() == b"" for stream in streams)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port))


def test_a_port_in_use_is_named(place, serve):
    server = serve()
    again = slipway(place, "serve", "--port", str(server.port))
    assert again.returncode == 4
    assert f"port {server.port} of 127.0.0.1 is in use" in again.stderr and "--port 0" in again.stderr
    server.end()
    assert serve("--port", str(server.port)).runs() == [], "the port is free again"


@pytest.mark.parametrize("words",
                         [["--port", "65536"], ["--port", "x"], ["--host", "192.0.2.1"], ["--host", "no such host"]])
def test_what_cannot_be_listened_on_is_a_usage_error(place, words):
    refused = slipway(place, "serve", *words)
    assert refused.returncode == 2 and refused.stderr, refused


def test_another_address_is_warned_of(serve):
    server = serve("--host", "0.0.0.0")
    assert server.ask("/api/runs", Host=f"{socket.gethostname()}:{server.port}")[0] == 200
    assert server.ask("/api/runs", Host="evil.example")[0] == 403
    server.process.terminate()
    assert "unencrypted" in server.process.communicate(timeout=PATIENCE_S)[1]


def test_the_ways_to_it_are_printed(place):
    with subprocess.Popen([PROGRAM, "serve"], cwd=place, env=environment(place), stdout=subprocess.PIPE,
                          text=True) as server:
        lines = [server.stdout.readline() for _ in range(5)]
        server.terminate()
    url = urllib.parse.urlsplit(lines[1].strip())
    assert url.hostname == "127.0.0.1"
    assert lines[3].startswith(f"  ssh -N -L {url.port}:127.0.0.1:{url.port} "), lines
    assert socket.gethostname().split(".")[0] in lines[3]
    with subprocess.Popen([PROGRAM, "serve", "--quiet"], cwd=place, env=environment(place), stdout=subprocess.PIPE,
                          text=True) as server:
        assert server.stdout.readline().startswith("http://127.0.0.1:")
        server.terminate()


def test_a_thousand_runs(place, serve, ended_run):
    for number in range(1000):
        add_run(place, ended_run, number, names=("state.json", "plan.json", "events.jsonl"))
    begin = time.monotonic()
    listed = slipway(place, "ls", "--limit", "1000").stdout.splitlines()
    print(f"\n1,000 runs by ls in {1000 * (time.monotonic() - begin):.0f} ms")
    assert sum("succeeded" in line for line in listed) == 1000
    server = serve()
    begin = time.monotonic()
    while not json.loads(server.ask("/api/runs")[2])["complete"]:
        assert time.monotonic() - begin < 100
        time.sleep(0.6)  # the list is read anew
    print(f"1,000 runs read in {time.monotonic() - begin:.1f} s")
    took = []
    for _ in range(5):
        time.sleep(0.6)
        begin = time.monotonic()
        assert len(server.runs()) == 1000
        took.append(time.monotonic() - begin)
    print("listed again in", ", ".join(f"{1000 * each:.0f} ms" for each in took))
    assert min(took) < 2
    time.sleep(0.6)
    read = read_files(server)
    assert read is None or read < 20, "an unchanged run is not read again"
    shutil.rmtree(place / "runs")  # pytest takes longer for it


def read_files(server):
    """How many bytes of files one list reads, in KiB; None: this kernel does not count them for us."""
    def characters():
        return int(pathlib.Path(f"/proc/{server.process.pid}/io").read_text().split()[1])
    try:
        before = characters()
    except OSError:
        return None
    server.runs()
    return (characters() - before) / 1024
