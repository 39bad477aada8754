#!/usr/bin/python3
"""slipway bench training: what training costs through the whole system, beside what the machine and PyTorch do.

scaling   one rank on one core, two ranks on two, and two runs that know nothing of each other: the machine's limit
torch     the Fashion network per core, input included, by the bundled trainer and by PyTorch with its DataLoader
ddp       a step with the gradients of ResNet-50, against torch DistributedDataParallel over gloo (slipway bench ddp)
paper     twenty steps of HEP-CNN, CosmoFlow and ResNet-50 at their papers' input sizes, by the trainer in C++ and by its
          twin in PyTorch; only when it is asked for, with one round, since it takes minutes
twins     the experiments of configs/ on one core, by the trainer and by its twin; only when it is asked for
delayed   what `gradients.mode: delayed` gains on two nodes (network namespaces) with a slow link between them, beside
          what computing and link allow; only when it is asked for, since it needs root

The sides of a part take turns, round by round; medians over the rounds. Beside the rates stand CPU seconds, which a
busy machine changes less.
"""

import argparse
import contextlib
import json
import os
import pathlib
import platform
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).absolute().parent
sys.path[:0] = [str(HERE), str(HERE / "bench-support/training")]

import delayed  # noqa: E402
import measured  # noqa: E402
import nodes  # noqa: E402
import papers  # noqa: E402
import sides  # noqa: E402

USUAL_PARTS = ("scaling", "torch", "ddp")


def arguments_of(line):
    parser = argparse.ArgumentParser(prog="slipway bench training", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=tuple(PARTS), action="append", help="only this one; may be repeated")
    parser.add_argument("--model", choices=sorted({*sides.MODELS, *papers.SHIPPED}), action="append",
                        help="of scaling, twins and delayed: only this one")
    parser.add_argument("--mbit", type=int, action="append", metavar="N",
                        help="of delayed: the link, may be repeated (1000, and the one with which the exchange takes half as "
                        "long as the computing)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="of each side (5)")
    parser.add_argument("--steps", type=int, default=60, metavar="N", help="of an epoch; each run has two epochs (60)")
    parser.add_argument("--first", action="store_true", help="before all other programs of the machine (root)")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a goal is missed")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the tables")
    arguments = parser.parse_args(line)
    if arguments.rounds < 1 or arguments.steps < 1:
        parser.error("--rounds and --steps count from 1")
    if any(mbit < 1 for mbit in arguments.mbit or []):
        parser.error("--mbit counts from 1")
    return arguments


def machine():
    processor = [line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                 if line.startswith("model name")]
    return {"host": platform.node(), "cores": len(os.sched_getaffinity(0)), "processor": processor[0] if processor else ""}


def asked(arguments, models):
    """Those of a part's models that --model names, or all."""
    return [model for model in sorted(models) if model in (arguments.model or models)]


def scaling(arguments, place):
    rows, goals = [], []
    for model in asked(arguments, sides.MODELS):
        bench = sides.Scaling(place, sides.MODELS[model], arguments.steps)
        figures = measured.in_turns(bench.sides(), arguments.rounds)
        rows += [measured.row(f"scaling {model}", side, figures[side]) for side in figures]
        one, two, apart = (measured.median(figures[side], "per_second") for side in ("one rank", "two ranks", "two runs"))
        goals += [measured.goal(f"{model}: two ranks / one rank", two / one, at_least=1.9),
                  measured.goal(f"{model}: two runs apart / one rank (the machine's limit)", apart / one),
                  measured.goal(f"{model}: two ranks / two runs apart", two / apart),
                  measured.goal(f"{model}: exchange that nothing hides, share of a step",
                                measured.median(figures["two ranks"], "exchange_share"), at_most=0.03),
                  measured.goal(f"{model}: waiting for input, share of a step",
                                measured.median(figures["two ranks"], "input_share"), at_most=0.01),
                  measured.goal(f"{model}: CPU of an image, two ranks / one rank",
                                measured.cpu_of_image(figures["two ranks"]) / measured.cpu_of_image(figures["one rank"]))]
    return rows, goals


def torch(arguments, place):
    figures = measured.in_turns(sides.PerCore(place, arguments.steps).sides(), arguments.rounds)
    rows = [measured.row("torch fashion", side, figures[side]) for side in figures]
    ours, theirs = (measured.median(figures[side], "per_second") for side in ("slipway", "pytorch"))
    cpu = measured.cpu_of_image(figures["pytorch"]) / measured.cpu_of_image(figures["slipway"])
    return rows, [measured.goal("fashion on one core: slipway / PyTorch", ours / theirs, at_least=1.0),
                  measured.goal("fashion: images of a CPU second, slipway (with evaluation) / PyTorch", cpu)]


def ddp(arguments, place):
    """That bench takes turns by itself."""
    done = subprocess.run([*place.prefix, sys.executable, HERE / "bench-ddp", "--json", "--steps", str(arguments.steps)],
                          stdout=subprocess.PIPE, check=True, start_new_session=True)
    result = json.loads(done.stdout)
    step = {row["side"]: row["median_ms"] for row in result["rows"]}
    rows = [{"part": "ddp resnet50", "side": side, "step_ms": step[side]} for side in step]
    goals = [measured.goal("ResNet-50's gradients: steps a second, slipway / torch DDP", step["gloo"] / step["slipway"],
                           at_least=1.0)]
    if result["overhead_ratio"] is not None:
        goals.append(measured.goal("ResNet-50's gradients: overhead of a step, slipway / torch DDP",
                                   result["overhead_ratio"], at_most=0.5))
    return rows, goals


def paper(_, place):
    rows, goals = [], []
    for model in papers.MODELS:
        figures = measured.in_turns(papers.AtPaperSize(place, model).sides(), rounds=1)
        rows += [measured.row(f"paper {model}", side, figures[side]) for side in figures]
        goals += [measured.goal(f"{model}: parameters", figures["slipway"][0]["parameters"]), twin_ratio(model, figures),
                  measured.goal(f"{model}: waiting for input, share of a step",
                                measured.median(figures["slipway"], "input_share"), at_most=0.01)]
    return rows, goals


def twins(arguments, place):
    rows, goals = [], []
    for model in asked(arguments, papers.SHIPPED):
        figures = measured.in_turns(papers.AsShipped(place, model, arguments.steps).sides(), arguments.rounds)
        rows += [measured.row(f"twins {model}", side, figures[side]) for side in figures]
        goals.append(twin_ratio(model, figures))
    return rows, goals


def twin_ratio(model, figures):
    ours, theirs = (measured.median(figures[side], "per_second") for side in ("slipway", "pytorch"))
    return measured.goal(f"{model}: C++ / its twin in PyTorch", ours / theirs)


def lag(arguments, place):
    reason = delayed.obstacle(place)
    if reason is not None:
        raise sides.Missing(f"the part 'delayed' cannot run here: {reason}")
    rows, goals = [], []
    with contextlib.ExitStack() as stack:
        cluster = nodes.Nodes(stack, place.folder)
        for model in asked(arguments, delayed.MODELS):
            more_rows, more_goals = delayed.measure(place, cluster, model, arguments)
            rows += more_rows
            goals += more_goals
    return rows, goals


PARTS = {"scaling": scaling, "torch": torch, "ddp": ddp, "paper": paper, "twins": twins, "delayed": lag}


def print_tables(result):
    machine_, load = result["machine"], result["load"]
    print(f"{machine_['cores']} cores of {machine_['processor']}, load {load[0]:.1f} before and {load[1]:.1f} after\n")
    across = [row for row in result["rows"] if "link_mbit" in row]
    steps = [row for row in result["rows"] if "step_ms" in row]
    rates = [row for row in result["rows"] if "per_second" in row]
    if rates:
        print(f"{'PART':<18} {'SIDE':<10} {'IMAGES/S':>9} {'MIN':>9} {'MAX':>9} {'CPU S/1000':>11}")
    for row in rates:
        print(f"{row['part']:<18} {row['side']:<10} {row['per_second']:>9.1f} {row['min']:>9.1f} {row['max']:>9.1f} "
              f"{row['cpu_s_per_1000']:>11.2f}")
    for row in steps:
        print(f"{row['part']:<18} {row['side']:<10} {row['step_ms']:>9.1f} ms a step")
    if across:
        delayed.print_rows(across)
    print()
    for goal in result["goals"]:
        print(f"{goal['what']:<66} {goal['value']:>7.3f}  {measured.verdict(goal)}")


def main(line):
    arguments = arguments_of(line)
    load = os.getloadavg()[0]
    rows, goals = [], []
    with tempfile.TemporaryDirectory(prefix="slipway-bench-") as folder:
        place = sides.Place(pathlib.Path(folder), HERE, arguments.first)
        for part in arguments.part or USUAL_PARTS:
            more_rows, more_goals = PARTS[part](arguments, place)
            rows += more_rows
            goals += more_goals
    result = {"schema": "slipway.bench.training/1", "machine": machine(), "load": [load, os.getloadavg()[0]],
              "rounds": arguments.rounds, "first": arguments.first, "rows": rows, "goals": goals}
    if arguments.json:
        print(json.dumps(result))
    else:
        print_tables(result)
    return 1 if arguments.check and any(goal["reached"] is False for goal in goals) else 0


def end(number, _frame):
    """What was made is removed, also when somebody else ends the bench."""
    sys.exit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, end)
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
    except sides.Missing as error:
        sys.exit(f"error: {error}")
