"""Results of steps: what is removed, what is kept, and what a removed result means."""

import datetime
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import sys
import time

from waiting import wait_for

pytest_plugins = ["workflow_test"]  # its fixtures


def results(flow):
    return {entry.name for entry in (flow.runs / ".results").iterdir() if not entry.name.startswith(".")}


def gc(flow, *words):
    return flow.json("workflow", "gc", *words)


def make_old(flow, days=40):
    """As if nothing had been used since."""
    then = time.time() - days * 86400
    for file in [*flow.runs.glob("*/workflow.jsonl"), *(flow.runs / ".results").iterdir()]:
        os.utime(file, (then, then))


def test_results_of_runs_stay_and_others_go(chain):
    chain.slipway("run", "flow.yaml")
    document = gc(chain)
    assert document["schema"] == "slipway.workflow.gc/1"
    assert document["removed"] == [] and document["kept"]["of_runs"] == 3
    shutil.rmtree(chain.run_of_flow())
    assert gc(chain, "--older-than", "30d")["kept"]["young"] == 3

    would = gc(chain, "--dry-run")
    assert {row["step"] for row in would["removed"]} == {"make", "use", "other"} and would["dry_run"]
    assert would["freed_bytes"] > 0 and len(results(chain)) == 3
    assert "would remove" in chain.slipway("workflow", "gc", "--dry-run")
    removed = gc(chain)
    assert removed["removed"] == would["removed"] and results(chain) == set()
    assert not list((chain.runs / ".results/.removed").iterdir())
    chain.ran()
    assert "its last result was removed" in chain.slipway("plan", "flow.yaml")
    chain.slipway("run", "flow.yaml")
    assert sorted(chain.ran()) == ["make", "other", "use"]


def test_a_run_whose_results_were_removed_says_so_and_resume_makes_them_again(chain):
    chain.slipway("run", "flow.yaml")
    chain.ran()
    make_old(chain)
    chain.slipway("workflow", "gc", "--ended-runs", status=2)
    assert "--older-than" in chain.said
    chain.slipway("workflow", "gc", "--older-than", "soon", status=2)
    assert "is not a duration" in chain.said
    assert len(gc(chain, "--older-than", "30d", "--ended-runs")["removed"]) == 3
    document = chain.json("status")
    assert document["phase"] == "succeeded" and all(step["removed"] for step in document["steps"])
    text = chain.slipway("status")
    assert "removed 3 results; slipway resume" in text and "its result was removed" in text
    assert chain.slipway("logs", "last/use") == "read blue\n"
    assert "was removed" in chain.said and "slipway resume" in chain.said
    chain.slipway("resume", "last")
    assert sorted(chain.ran()) == ["make", "other", "use"]
    assert not any(step["removed"] for step in chain.json("status")["steps"])


def test_a_result_keeps_those_that_it_was_made_from(chain):
    chain.slipway("run", "flow.yaml")
    journal = chain.run_of_flow() / "workflow.jsonl"
    of_use = [line for line in journal.read_text().splitlines() if '"use"' in line]
    journal.write_text("\n".join(of_use) + "\n")
    document = gc(chain)
    assert [row["step"] for row in document["removed"]] == ["other"]
    assert document["kept"]["needed"] == 1 and document["kept"]["of_runs"] == 1


def test_a_running_workflow_keeps_what_it_uses(flow):
    flow.step("import time\n"
              "if 'make' in sys.argv: pathlib.Path(sys.argv[2]).write_text('blue')\n"
              "while 'use' in sys.argv and not os.path.exists('go'): time.sleep(0.02)\n"
              "if 'use' in sys.argv: print(pathlib.Path(sys.argv[2]).read_text())\n")
    flow.steps(make=(["make", "${outputs.data}"], ["outputs: {data: data.txt}"]))
    flow.slipway("run", "flow.yaml")
    shutil.rmtree(flow.run_of_flow())
    flow.ran()
    make_old(flow)
    flow.steps(make=(["make", "${outputs.data}"], ["outputs: {data: data.txt}"]),
               use=(["use", "${steps.make.outputs.data}"], []))
    run = flow.start("run", "flow.yaml")
    wait_for(flow.has_begun)
    journal = flow.run_of_flow() / "workflow.jsonl"
    kept = journal.read_bytes()
    journal.write_bytes(b"")  # only the lease is left
    document = gc(flow, "--older-than", "30d", "--ended-runs")
    assert document["removed"] == [] and document["kept"]["leased"] == 1
    journal.write_bytes(kept)
    (flow.folder / "go").touch()
    assert run.wait(timeout=60) == 0
    assert flow.slipway("logs", "last/use") == "blue\n" and flow.ran() == ["use"]

    (flow.folder / "go").unlink()
    run = flow.start("run", "flow.yaml", "--force", "use")
    wait_for(flow.has_begun)
    run.send_signal(signal.SIGKILL)
    run.wait()
    (flow.folder / "go").touch()  # ends the step
    for entry in flow.runs.glob("flow-*"):
        shutil.rmtree(entry)
    assert len(gc(flow)["removed"]) >= 2, "the lease of a killed manager does not count"


def test_a_killed_gc_leaves_no_half_result(chain):
    """What it has renamed away is gone, and everything else is whole."""
    chain.slipway("run", "flow.yaml")
    shutil.rmtree(chain.run_of_flow())
    store = chain.runs / ".results"
    whole = {name: sorted(str(file) for file in (store / name).rglob("*")) for name in results(chain)}
    for delay in (0, 0.002, 0.004, 0.006, 0.01, 0.02):
        process = chain.start("workflow", "gc")
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
        for name in results(chain):
            assert sorted(str(file) for file in (store / name).rglob("*")) == whole[name]
    chain.slipway("run", "flow.yaml")
    assert chain.slipway("logs", "last/use") == "read blue\n" or results(chain) == set(whole)
    shutil.rmtree(chain.run_of_flow())
    gc(chain)
    assert results(chain) == set() and not list((store / ".removed").iterdir())


def test_a_removed_result_that_is_left_behind_is_removed_later(chain):
    chain.slipway("run", "flow.yaml")
    left = chain.runs / ".results/.removed/abc.1"
    left.mkdir(parents=True)
    (left / "manifest.json").write_text("{}")
    gc(chain)
    assert not left.exists()


def test_a_damaged_result_is_removed_as_well(chain):
    chain.slipway("run", "flow.yaml")
    shutil.rmtree(chain.run_of_flow())
    for name in results(chain):
        (chain.runs / ".results" / name / "manifest.json").write_text("{")
    assert "damaged" in chain.slipway("workflow", "gc")
    assert results(chain) == set()


def test_gc_without_results_is_no_error(flow):
    assert gc(flow)["removed"] == []
    assert json.loads(json.dumps(gc(flow)))["freed_bytes"] == 0


def test_a_plan_says_what_the_steps_read_and_cost(flow):
    flow.step("import time\ntime.sleep(0.3)\nif len(sys.argv) > 2: pathlib.Path(sys.argv[2]).write_text('x' * 5000)\n")
    (flow.folder / "raw.txt").write_text("y" * 2000)
    steps = {"make": (["make", "${outputs.data}"], ["outputs: {data: data.txt}", "inputs: {raw: raw.txt}"]),
             "use": (["use"], ["inputs: {data: '${steps.make.outputs.data}'}", "resources: {cpus: 2}"]),
             "each": (["${item}"], ["foreach: [1, 2]"])}
    flow.steps(**steps)
    plan = flow.json("plan", "flow.yaml")
    rows = {row["name"]: row for row in plan["steps"]}
    assert rows["make"]["bytes"] == 2000 and rows["make"]["seconds"] is None and rows["make"]["has_all_inputs"]
    assert rows["use"]["bytes"] == 0 and not rows["use"]["has_all_inputs"]
    assert plan["bytes"] == 2000 and plan["core_hours"] == 0 and plan["steps_without_cost"] == 4
    assert plan["node_hours"] == 0 and rows["make"]["node_hours"] is None
    assert "core time" not in flow.slipway("plan", "flow.yaml")

    begun = time.monotonic()
    for _ in range(3):
        flow.slipway("run", "flow.yaml", "--force", "make", "--force", "use")
    all_took = time.monotonic() - begun
    steps["each"] = (["${item}"], ["foreach: [1, 2, 3]"])
    flow.steps(**steps)
    plan = flow.json("plan", "flow.yaml", "--force", "use")
    rows = {row["name"]: row for row in plan["steps"]}
    assert rows["make"]["from_results"] == 3 and rows["make"]["reuse"]
    assert rows["use"]["bytes"] == 5000 and rows["use"]["has_all_inputs"]
    assert 0.3 < rows["use"]["seconds"] < all_took / 2, "the median: two of the three took as long or longer"
    assert abs(rows["use"]["core_hours"] - 2 * rows["use"]["seconds"] / 3600) < 1e-6
    assert rows["each.2"]["from_results"] == 2, "those of its foreach"
    assert plan["steps_without_cost"] == 0 and plan["bytes"] == 5000
    assert abs(plan["core_hours"] - rows["use"]["core_hours"] - rows["each.2"]["core_hours"]) < 1e-9
    assert abs(rows["use"]["node_hours"] - rows["use"]["seconds"] / 3600) < 1e-6
    assert abs(plan["node_hours"] - rows["use"]["node_hours"] - rows["each.2"]["node_hours"]) < 1e-9
    text = flow.slipway("plan", "flow.yaml", "--force", "use")
    assert "of node time" in text and "of core time" in text and "reads 5.00 kB" in text


def test_records_without_a_number_of_nodes_stay_readable(flow):
    flow.step("")
    flow.steps(old=(["old"], []), new=(["new"], []))
    flow.slipway("run", "flow.yaml")
    noted = flow.runs / ".results/.last/flow/old"
    identity, cost = noted.read_text().splitlines()
    assert re.fullmatch(r"[0-9.]+ 1 0 1", cost)
    noted.write_text(f"{identity}\n7200.000 2 0\n")
    manifest = flow.runs / ".results" / identity / "manifest.json"
    document = json.loads(manifest.read_text())
    assert document.pop("nodes") == 1
    manifest.write_text(json.dumps(document))

    plan = flow.json("plan", "flow.yaml", "--force", "old", "--force", "new")
    rows = {row["name"]: row for row in plan["steps"]}
    assert rows["old"]["core_hours"] == 4 and rows["old"]["node_hours"] is None
    assert rows["new"]["node_hours"] is not None and plan["node_hours"] is None
    assert "node time" not in flow.slipway("plan", "flow.yaml", "--force", "old")
    assert flow.json("plan", "flow.yaml")["steps"][0]["reuse"]
    flow.slipway("run", "flow.yaml", "--force", "old")
    row = next(row for row in flow.json("plan", "flow.yaml", "--force", "old")["steps"] if row["name"] == "old")
    assert row["from_results"] == 2 and row["node_hours"] < 1, "of the results that have it"


def test_a_plan_names_the_values_that_come_from_other_places(flow):
    (flow.folder / "base.yaml").write_text("defaults: {retries: 2}\nsteps:\n  a: {command: ['true'], time_limit: 10m}\n")
    flow.write("include: base.yaml\nname: flow\nsteps:\n  a: {retries: 1}\n  b: {command: ['true', 'b']}\n")
    text = flow.slipway("plan", "flow.yaml", "--set", "steps.b.time_limit=5m")
    told = text[text.index("values from other places:"):].splitlines()[1:4]
    assert told == ["  --set: b.time_limit", "  base.yaml:1: b.retries", "  base.yaml:3: a.command, a.time_limit"]
    flow.write("name: flow\nsteps:\n  b: {command: ['true', 'b']}\n")
    assert "values from other places" not in flow.slipway("plan", "flow.yaml")


def seconds_of_cores():
    """Of all programs so far. Others on the machine do not count."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_a_plan_of_a_thousand_steps_is_quick(flow):
    flow.step("")
    (flow.folder / "in").write_bytes(b"x" * 1000)
    lines = "".join(f"  s{i}: {{command: ['true', '{i}'], inputs: {{i: in}}, after: [{f's{i - 1}' if i else ''}]}}\n"
                    for i in range(1000))
    flow.write("name: flow\nsteps:\n" + lines)
    flow.slipway("run", "flow.yaml")
    flow.write("name: flow\nsteps:\n" + lines.replace("'true', '0'", "'true', '-1'"))
    taken = []
    for _ in range(3):
        before = seconds_of_cores()
        plan = flow.json("plan", "flow.yaml")
        taken.append(seconds_of_cores() - before)
    assert not any(row["reuse"] for row in plan["steps"]) and plan["steps"][7]["from_results"] == 1
    assert min(taken) < 3, taken


def test_a_report_has_the_picture_the_steps_and_links_to_their_files(flow):
    flow.program("report(1, loss=0.25)\n")
    flow.step("print('hello')\nsys.exit('bad' in sys.argv)\n")
    flow.write(f"""name: flow
steps:
  train: {{experiment: {{train: {{command: [{sys.executable}, train.py]}}}}, description: 'a <longer> training'}}
  page: {{report: [train]}}
  bad: {{command: [{sys.executable}, step.py, bad], after: [train]}}
  after_bad: {{command: ['true'], after: [bad]}}
""")
    flow.slipway("run", "flow.yaml", status=1)
    file = pathlib.Path(flow.slipway("report", "last", "-q").strip())
    assert file == flow.run_of_flow() / "report.html"
    page = file.read_text()
    assert "<svg" in page and page.count("<path") == 3 and "a &lt;longer&gt; training" in page
    assert "loss 0.25" in page and "exit status 1" in page and "2 done, 1 failed, 1 blocked of 4 steps" in page
    assert 'class="blocked">blocked<' in page and page.count("stroke-dasharray") == 1, "not as the failed step"
    started = re.search(r'started <time datetime="([^"]+)" title="[^"]+">([^<]+)</time>, ended <time', page)
    local = datetime.datetime.fromisoformat(started[1]).astimezone()
    assert started[2] == local.strftime("%Y-%m-%d %H:%M:%S"), started
    links = re.findall(r'<a href="([^"]+)"', page)
    assert len(links) == 5, "a log each of three, a report and a page"
    for link in links:
        assert (file.parent / link).exists(), link
    other = flow.folder / "elsewhere" / "page.html"
    other.parent.mkdir()
    flow.slipway("report", "last", "--out", str(other))
    for link in re.findall(r'<a href="([^"]+)"', other.read_text()):
        assert (other.parent / link).exists(), link
    assert flow.json("report", "last")["schema"] == "slipway.workflow/1"
    flow.slipway("run", "flow.yaml", status=1)
    again = pathlib.Path(flow.slipway("report", "last", "-q").strip())
    links = re.findall(r'<a href="([^"]+)"', again.read_text())
    assert len(links) == 3 and sum("../flow-" in link for link in links) == 1, "the run that is reused"
    for link in links:
        assert (again.parent / link).exists(), link
    flow.slipway("report", "last", "--out", str(other.parent), status=2)
    assert "is a folder" in flow.said


def test_logs_follow_more_steps_than_files_may_be_open(flow):
    flow.write("name: flow\nsteps:\n" + "".join(f"  s{i}: {{command: [echo, hello]}}\n" for i in range(60)))
    flow.slipway("run", "flow.yaml")
    logs = flow.start("logs", "-f", "last", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40)))
    out, err = logs.communicate(timeout=60)
    assert out.splitlines() == [f"[s{i}] hello" for i in range(60)], err


def test_logs_follow_steps_until_they_have_ended(flow):
    flow.step("import time\nprint(sys.argv[1], 'begins', flush=True)\n"
              "while not os.path.exists('go-' + sys.argv[1]): time.sleep(0.05)\nprint(sys.argv[1], 'ends')\n")
    flow.steps(first=(["first"], []), last=(["last"], ["after: [first]"]))
    running = flow.start("run", "flow.yaml")
    wait_for(flow.entries)
    all_steps, one_step = flow.start("logs", "-f", "last"), flow.start("logs", "-f", "last/first", "--json")
    assert all_steps.stdout.readline() == "[first] first begins\n"
    (flow.folder / "go-first").touch()
    out, err = one_step.communicate(timeout=60)
    assert [json.loads(line) for line in out.splitlines()] == [{"step": "first", "line": "first begins"},
                                                               {"step": "first", "line": "first ends"}], err
    assert one_step.returncode == 0 and running.poll() is None and all_steps.poll() is None
    (flow.folder / "go-last").touch()
    out, err = all_steps.communicate(timeout=60)
    assert out == "[first] first ends\n[last] last begins\n[last] last ends\n", err
    assert running.wait(60) == 0 and all_steps.returncode == 0
    assert flow.slipway("logs", "-f", "last/last") == "last begins\nlast ends\n"
    flow.slipway("logs", "last", "--rank", "0", status=2)
    assert f"slipway logs {flow.run_of_flow().name}/STEP" in flow.said, flow.said
