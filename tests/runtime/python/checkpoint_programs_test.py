"""Checkpoints of whole programs: other numbers of ranks, full disks, ranks and jobs that die. Each test starts its ranks."""

import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "support"))
from command_lines import command_lines  # noqa: E402
from reserved_port import reserved_port  # noqa: E402
from waiting import wait_for  # noqa: E402

PROGRAM = HERE / "programs" / "checkpoints.py"


def mpirun(*arguments, ranks=2, before=()):
    return [*before, "mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks), sys.executable, str(PROGRAM),
            *map(str, arguments)]


def run(*arguments, **options):
    return subprocess.run(mpirun(*arguments, **options), capture_output=True, text=True, timeout=60)


def states(text, word):
    """What the ranks say of their state, each once."""
    return set(re.findall(rf"{word} at (\d+: (?:[0-9a-f]{{16}}|-))", text))


def names_in(folder):
    return sorted(os.listdir(folder))


def programs_of(folder):
    """The numbers of the processes that have `folder` in their command line."""
    return [process for process, line in command_lines().items() if os.fsencode(folder) in line.split(b"\0")]


def test_another_number_of_ranks_continues_with_the_same_bits(tmp_path):
    begun = run(tmp_path, 3, "none", ranks=2)
    assert begun.returncode == 0, begun.stderr
    ended = states(begun.stdout, "ends")
    assert len(ended) == 1
    for ranks, steps in ((3, 4), (1, 5), (2, 6)):
        done = run(tmp_path, steps, "none", ranks=ranks)
        assert done.returncode == 0, done.stderr
        assert states(done.stdout, "begins") == ended
        ended = states(done.stdout, "ends")
        assert len(ended) == 1, done.stdout


def test_the_ranks_of_torch_distributed_need_no_libslipway(tmp_path):
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMI"))}
    for begin in ("0: -", "2: "):
        with reserved_port() as port:  # for the store of torch
            shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                      "SLIPWAY_LIBRARY": "/nowhere/libslipway.so"}
            ranks = [subprocess.Popen([sys.executable, PROGRAM, tmp_path, "2" if begin == "0: -" else "3", "gloo"],
                                      text=True, stdout=subprocess.PIPE, env={**inherited, **shared, "RANK": str(rank)})
                     for rank in range(2)]
            out = "".join(each.communicate(timeout=60)[0] for each in ranks)
        assert [each.returncode for each in ranks] == [0, 0], out
        assert all(each.startswith(begin) for each in states(out, "begins"))
    assert names_in(tmp_path) == ["step-000000000002", "step-000000000003"]


def test_a_full_disk_is_the_same_error_on_all_ranks_and_the_checkpoint_before_stays(tmp_path):
    mount = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
             'mount -t tmpfs -o size=4m none "$0" 2>/dev/null || exit 77; "$@"; status=$?; ls -a "$0"; exit $status', str(tmp_path)]
    done = run(tmp_path, 3, "grows", before=mount)
    if done.returncode in (1, 77) and "begins" not in done.stdout:
        pytest.skip("no file system can be mounted here")
    assert done.returncode == 0, done.stdout + done.stderr
    said = re.findall(r"rank \d FileError: (.*)", done.stdout)
    assert len(said) == 2 and len(set(said)) == 1, done.stdout
    assert re.search(r"step 3 is not published: rank \d cannot write .*No space left on device", said[0])
    assert "the newest checkpoint is step-000000000002" in done.stdout
    listed = done.stdout.splitlines()[done.stdout.splitlines().index(".."):]
    assert listed == ["..", "step-000000000001", "step-000000000002"], "the space is free again"


def test_a_rank_that_dies_leaves_the_checkpoint_before(tmp_path):
    done = run(tmp_path, 3, "dies", ranks=3)
    assert done.returncode != 0 and "ends at 3" not in done.stdout
    assert [name for name in names_in(tmp_path) if name.startswith("step-")] == ["step-000000000001", "step-000000000002"]
    again = run(tmp_path, 3, "none", ranks=3)
    assert again.returncode == 0, again.stderr
    assert all(state.startswith("2: ") for state in states(again.stdout, "begins"))
    assert names_in(tmp_path) == ["step-000000000002", "step-000000000003"], "what was left unfinished is gone"


def test_a_job_that_is_killed_while_it_writes_leaves_the_checkpoint_before(tmp_path):
    with subprocess.Popen(mpirun(tmp_path, 3, "hangs"), stdout=subprocess.PIPE, text=True, start_new_session=True) as job:
        while "writing" not in (line := job.stdout.readline()):
            assert line, "the job has ended"
        wait_for(lambda: any(name.startswith(".tmp-step-000000000003") for name in names_in(tmp_path)))
        os.killpg(job.pid, signal.SIGKILL)
    wait_for(lambda: not programs_of(tmp_path), what="the end of the ranks, which are in process groups of their own")
    assert any(name.startswith(".tmp-step-000000000003") for name in names_in(tmp_path))
    again = run(tmp_path, 3, "none")
    assert again.returncode == 0, again.stderr
    assert all(state.startswith("2: ") for state in states(again.stdout, "begins"))
    assert names_in(tmp_path) == ["step-000000000002", "step-000000000003"]


def test_the_end_of_a_program_waits_for_its_last_checkpoint(tmp_path):
    code = (f"import slipway, torch; slipway.init(); "
            f"slipway.checkpoint.save(torch.nn.Linear(2000, 2000), step=1, folder={str(tmp_path)!r})")
    done = subprocess.run([*mpirun()[:-2], sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert names_in(tmp_path) == ["step-000000000001"]
