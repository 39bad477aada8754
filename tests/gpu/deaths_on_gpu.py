"""deaths_on_gpu.py [--device cpu] [MPIEXEC...]: a rank is killed while its GPU computes. The other one names it within
seconds, and ends.

MPIEXEC... are the words that start ranks; their number follows. Without them, mpirun does it. Without a GPU or PyTorch
it says so and ends with status 77, which means skipped. On the CPU it shows that the script itself is right.

A launcher may end all ranks as soon as it sees the death of one. So each rank is the child of a process that stays.

A job with a death leaves no comm.json. So before it, the same job without one shows that the ranks wait as the case
says. Where the GPUs cannot, the case is skipped, and the script ends with status 77 if no other one failed.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import on_gpu
import slipway
import torch
import ways_taken

# gpu_exchange and SLIPWAY_GPU_WAIT.
CASES = (("direct", "cpu"), ("direct", "events"), ("staged", "cpu"), ("staged", "events"))
KILLED_AFTER_S = 2
SECONDS_TO_NAME = 10
SECONDS_TO_END = 10
SECONDS_OF_CASE = 60


def occupy(device):
    """About 10 s of work for a GPU. It ends with the process."""
    for _ in range(100 if device == "cuda" else 0):
        torch.cuda._sleep(200_000_000)


def die(folder):
    (folder / "death").write_text(str(time.monotonic()))
    os.kill(os.getpid(), signal.SIGKILL)


def be_killed(team, device, folder):
    threading.Timer(KILLED_AFTER_S, die, (folder,)).start()
    occupy(device)
    if device == "cuda":  # a rank on the CPU has no values that are still to be made
        team.gradients()
    time.sleep(SECONDS_OF_CASE)


def survive(team, tensor, folder):
    """Where GPUs wait by events, gradients() returns before the sums are there: then the allreduce waits for them."""
    try:
        team.gradients()
        slipway.allreduce(tensor)
        error = "no error"
    except slipway.SlipwayError as raised:
        error = f"{type(raised).__name__}: {raised}"
    (folder / "survivor").write_text(json.dumps({"error": error, "time": time.monotonic()}))
    sys.exit(1)


def be_rank(folder, device, way):
    slipway.init({"resilience": {"stall_after_s": 40}})
    if device == "cuda":
        on_gpu.use_gpu_of_rank()
    gradients, small = torch.ones(1_000_000, device=device), torch.ones(4, device=device)
    team = slipway.Team("net", [gradients], **({"gpu_exchange": way} if device == "cuda" else {}))
    team.gradients()  # all is loaded before the clock runs
    slipway.allreduce(small)
    slipway.barrier()
    if slipway.rank() == 1:
        be_killed(team, device, folder)
    survive(team, small, folder)


def be_well(folder, way):
    """A rank of the same job, in which none dies."""
    os.environ["SLIPWAY_METRICS"] = str(folder / "metrics.jsonl")
    slipway.init()
    on_gpu.use_gpu_of_rank()
    machine = {"gpus": on_gpu.gpus_of_ranks(), "obstacles": on_gpu.obstacles()}
    if way != "direct" or not machine["obstacles"]["direct"]:
        slipway.Team("net", [torch.ones(1_000_000, device="cuda")], gpu_exchange=way).gradients()
    if slipway.rank() == 0:
        (folder / "machine").write_text(json.dumps(machine))
    slipway.finalize()


def require_way(mpiexec, way, waits):
    """The number of GPUs, in words. Errors: Refused; AssertionError; SubprocessError."""
    with tempfile.TemporaryDirectory(prefix="slipway-gpu-") as name:
        subprocess.run([*mpiexec, "2", sys.executable, __file__, "--well", name, way], check=True,
                       env={**os.environ, "SLIPWAY_GPU_WAIT": waits}, timeout=SECONDS_OF_CASE)
        machine = json.loads((pathlib.Path(name) / "machine").read_text())
        comm = pathlib.Path(name) / "comm.json"
        report = json.loads(comm.read_text()) if comm.exists() else {"teams": []}
    if way == "direct":
        ways_taken.require_direct(report, ["net"], waits, machine["obstacles"])
    else:
        assert [team["way"] for team in report["teams"]] == [way], report["teams"]
    return ways_taken.number_of([tuple(gpu) for gpu in machine["gpus"]])


def await_file(path, seconds):
    end = time.monotonic() + seconds
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.02)


def keep_rank(folder, device, way):
    """The process that the launcher sees. It stays until the survivor has ended, or for the time of a case."""
    rank = subprocess.Popen([sys.executable, __file__, "--device", device, "--rank", str(folder), way], close_fds=False)
    end = time.monotonic() + SECONDS_OF_CASE
    while not (folder / "survivor").exists() and rank.poll() in (None, -signal.SIGKILL) and time.monotonic() < end:
        time.sleep(0.02)
    try:
        status = rank.wait(SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        rank.kill()
        status = None
    if status == -signal.SIGKILL:
        await_file(folder / "end", SECONDS_TO_END)  # the launcher sees no end before that of the survivor
    else:
        (folder / "end").write_text(json.dumps(status))


def problem_of(folder):
    """What is wrong with the end of a case; nothing: the survivor has named the dead rank and ended by itself."""
    if not (folder / "survivor").exists():
        return f"rank 0 had no error within {SECONDS_OF_CASE} s"
    survivor = json.loads((folder / "survivor").read_text())
    if not (folder / "death").exists():
        return f"rank 0 did not wait for rank 1: {survivor['error']}"
    seconds = survivor["time"] - float((folder / "death").read_text())
    print(f"  {seconds:.1f} s after the death: {survivor['error']}", flush=True)
    if not re.match(r"StalledError: .*rank 1 .* is dead", survivor["error"], re.DOTALL):
        return "rank 0 did not name rank 1 as dead"
    if seconds > SECONDS_TO_NAME:
        return f"rank 0 named rank 1 {seconds:.1f} s after its death"
    if not (folder / "end").exists():
        return "rank 0 was killed, too"
    if json.loads((folder / "end").read_text()) is None:
        return f"rank 0 did not end within {SECONDS_TO_END} s"
    return None


def play(mpiexec, device, way, waits):
    with tempfile.TemporaryDirectory(prefix="slipway-gpu-") as name:
        environment = {**os.environ, "SLIPWAY_GPU_WAIT": waits}
        started = subprocess.Popen([*mpiexec, "2", sys.executable, __file__, "--device", device, "--keep", name,
                                    way], env=environment)
        try:
            started.wait(SECONDS_OF_CASE + 2 * SECONDS_TO_END + 5)  # its status is that of a job in which a rank failed
        except subprocess.TimeoutExpired:
            started.kill()
        return problem_of(pathlib.Path(name))


def result_of(mpiexec, device, way, waits):
    """passed, failed or skipped, and about what and why."""
    about = f"a rank is killed, {way}, SLIPWAY_GPU_WAIT={waits}"
    try:
        if device == "cuda":
            about += f", {require_way(mpiexec, way, waits)}"
    except ways_taken.Refused as reason:
        return "skipped", f"{about}: {reason}"
    except (AssertionError, subprocess.SubprocessError) as error:
        return "failed", f"{about}: {error}"
    problem = play(mpiexec, device, way, waits)
    return ("failed", f"{about}: {problem}") if problem else ("passed", about)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--keep", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--rank", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--well", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("mpiexec", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if options.rank:
        be_rank(pathlib.Path(options.rank[0]), options.device, options.rank[1])
    if options.well:
        be_well(pathlib.Path(options.well[0]), options.well[1])
        return
    if options.keep:
        keep_rank(pathlib.Path(options.keep[0]), options.device, options.keep[1])
        return
    if options.device == "cuda":
        on_gpu.require_gpu()
    results = set()
    for way, waits in CASES if options.device == "cuda" else CASES[:1]:
        result, about = result_of(options.mpiexec or on_gpu.mpirun(), options.device, way, waits)
        results.add(result)
        print(f"{result}: {about}", flush=True)
    sys.exit(1 if "failed" in results else on_gpu.SKIPPED if "skipped" in results else 0)


if __name__ == "__main__":
    main()
