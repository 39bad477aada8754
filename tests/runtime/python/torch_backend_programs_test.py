"""Scripts that use the backend "slipway", as users start them; and ranks that do not come. Each test starts its own
ranks."""

import json
import os
import pathlib
import re
import socket
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "support"))
from reserved_port import reserved_port  # noqa: E402

PROGRAMS = HERE / "programs"
MPI_VARIABLES = ("OMPI_", "PMI", "PMIX_", "HYDI_", "MPIR_")


def mpirun(program, *arguments, ranks=2, before=(), **environment):
    start = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)]
    whole_lines = {"PYTHONUNBUFFERED": ""}  # else print() writes the end of a line by itself, maybe after another rank
    return subprocess.run([*start, *before, sys.executable, PROGRAMS / program, *arguments], capture_output=True,
                          text=True, timeout=80, env={**os.environ, **whole_lines, **environment})


def as_torchrun(program, *arguments, ranks=2, **changes):
    """Processes with torchrun's variables and none of MPI: the torchrun of some packages does not start."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(MPI_VARIABLES)}
    with reserved_port() as port:
        shared = {"WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1",
                  "MASTER_PORT": str(port), "TORCHELASTIC_RUN_ID": "test", **changes}
        processes = [subprocess.Popen([sys.executable, PROGRAMS / program, *arguments], stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True,
                                      env={**inherited, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank)})
                     for rank in range(ranks)]
        done = [process.communicate(timeout=80) for process in processes]
    out, err = ("".join(texts) for texts in zip(*done))
    return [process.returncode for process in processes], out, err


def of_mpich():
    """The library for MPICH that was built beside the one under test, or None."""
    library = pathlib.Path(os.environ.get("SLIPWAY_LIBRARY", "/nowhere")).resolve()
    beside = library.parent.parent / "mpich" / "libslipway.so"
    return str(beside) if beside.exists() else None


def lines(text):
    return sorted(re.findall(r"^rank \d of .*$", text, re.M))


def test_machines_with_the_same_name_are_nodes_of_their_own(monkeypatch, tmp_path):
    """Else MPICH would look for the memory of one machine on the other."""
    from slipway import _machine
    from slipway.torch_backend import pmi
    boot_id = tmp_path / "boot_id"
    monkeypatch.setattr(_machine, "_BOOT_ID", boot_id)
    monkeypatch.setattr(socket, "gethostname", lambda: "localhost")
    machines = []
    for boot in ("one", "one", "two"):
        boot_id.write_text(f"{boot}\n")
        machines.append(_machine.identity())
    assert pmi.process_mapping(machines) == "(vector,(0,1,2),(1,1,1))"
    boot_id.unlink()
    assert _machine.identity() == "localhost"


@pytest.fixture(scope="module")
def over_gloo():
    status, out, err = as_torchrun("backend_train.py", "gloo")
    assert status == [0, 0], err
    return lines(out)


def test_under_mpirun_no_variables_are_needed(over_gloo):
    done = mpirun("backend_train.py", "slipway")
    assert done.returncode == 0, done.stderr
    assert lines(done.stdout) == over_gloo and len(over_gloo) == 2


def test_ddp_leaves_its_collectives_and_a_timeline(tmp_path):
    done = mpirun("backend_train.py", "slipway", SLIPWAY_METRICS=str(tmp_path / "metrics.jsonl"),
                  SLIPWAY_CONFIG='{"trace": {"chrome": true}}')
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "comm.json").read_text())
    assert report["teams"] == [] and len(report["collectives"]["times_of_ranks"]) == 2
    allreduces = [counts for group in report["collectives"]["groups"] for counts in group["calls"]
                  if group["ranks"] == 2 and counts["call"] == "slipway_allreduce"]
    assert sum(counts["count"] for counts in allreduces) >= 5  # a bucket in each step
    for counts in allreduces:
        assert counts["way"] == "cpu" and counts["bytes"] > 0 and counts["exchange_s"] > 0
        assert counts["wait_s"] == 0  # they run in the backend's thread
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    spans = [(event["pid"], event["tid"]) for event in events if event["name"] == "slipway_allreduce"]
    assert set(spans) == {(0, 1), (1, 1)}


def test_under_mpirun_a_group_can_be_made_again_and_init_after_it_does_nothing():
    done = mpirun("backend_again.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("with 3 groups") == 2
    assert done.stdout.count('init_process_group("slipway") has joined the job with settings of its own') == 2


def test_under_torchrun(over_gloo):
    library = of_mpich()
    if library is None:
        pytest.skip("there is no libslipway for MPICH")
    status, out, err = as_torchrun("backend_train.py", "slipway", SLIPWAY_LIBRARY=library)
    assert (status, lines(out)) == ([0, 0], over_gloo), err


def test_under_torchrun_within_a_job_of_another_launcher(over_gloo):
    """As with `srun torchrun`: all ranks inherit the variables of one."""
    library = of_mpich()
    if library is None:
        pytest.skip("there is no libslipway for MPICH")
    status, out, err = as_torchrun("backend_train.py", "slipway", SLIPWAY_LIBRARY=library, PMI_RANK="0", PMI_SIZE="1",
                                   PMI_FD="99")
    assert (status, lines(out)) == ([0, 0], over_gloo), err


def test_under_torchrun_open_mpi_is_refused_with_a_next_step():
    if "openmpi" not in os.environ.get("SLIPWAY_LIBRARY", ""):
        pytest.skip("the library under test is not for Open MPI")
    status, _, err = as_torchrun("backend_train.py", "slipway")
    assert 0 not in status
    assert "no MPI launcher started these 2 ranks" in err
    assert "next: start the program with `slipway run` or mpirun" in err


@pytest.mark.parametrize("how,said", [
    ("killed", r"rank 1 on host \S+ .process \d+. is dead|rank 1 on host .* (died|dead|ended)"),
    ("leaves", r"rank 1 on host"),
    ("receives", r"rank 1 of the group .host \S+, pid \d+. has (ended|closed)"),
    ("ends", r"rank 1 of the group .host \S+, pid \d+. has (ended|closed)"),
    ("differs", r"rank 1"),
])
def test_a_rank_that_does_not_come_is_named(how, said):
    """All others end by themselves."""
    done = mpirun("backend_ends.py", how, ranks=3, before=("--enable-recovery",),
                  SLIPWAY_CONFIG='{"resilience": {"stall_after_s": 20}}')
    out = done.stdout + done.stderr
    for rank in (0, 2):
        text = "".join(re.findall(rf"^rank {rank} \w+Error: .*(?:\n(?!rank).*)*", out, re.M))
        assert re.search(said, text), out
    assert "done" not in done.stdout


def test_messages_of_a_rank_that_has_ended_arrive():
    done = mpirun("backend_last_message.py")
    assert done.returncode == 0, done.stderr
    assert re.search(r"received 10000000, then: StalledError: .*rank 1 of the group .* has ended", done.stdout), done.stdout
    assert "sent" in done.stdout, "while its process lives, a rank that has ended reads what comes"


def test_an_exception_on_one_rank_ends_the_job():
    done = mpirun("backend_ends.py", "raises", ranks=3)
    assert done.returncode != 0 and "rank 1 has a bad batch" in done.stderr, done.stderr
    assert "done" not in done.stdout
