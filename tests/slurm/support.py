"""What the tests of the test bed share: a bed for the tests of a class, and clients of it."""

import os
import pathlib
import pwd
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from command_lines import command_lines  # noqa: E402
from waiting import wait_for  # noqa: E402, F401

PROGRAM = pathlib.Path(__file__).resolve().parent / "testbed"
CANNOT_HERE = 77
PATIENCE_S = 60  # for what comes at once on a quiet machine
ORDINARY_USER = "nobody"  # who the clients are when the tests run as root: root may not have burst buffers
STEADY = ("--conf", "SlurmdTimeout=30")  # on a busy machine, too, no node is lost that is alive
# The fastest start of Open MPI on plain networks, and the surest.
OPEN_MPI = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,self,vader", "OMPI_MCA_btl_base_warn_component_unused": "0"}


def ordinary_user():
    """Options of subprocess.run that make the command an ordinary user's."""
    if os.geteuid() != 0:
        return {}
    entry = pwd.getpwnam(ORDINARY_USER)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def give_to_ordinary_user(path):
    """Settings in a folder that everybody can write to are not obeyed."""
    user = ordinary_user()
    if user:
        os.chown(path, user["user"], user["group"])


def processes_with(words):
    """The processes, on whatever node, with this in their command line. Between two words is a zero byte."""
    return [process for process, line in command_lines().items() if words.encode() in line]


def testbed(*words, environment=None, timeout=150, **options):
    """Runs the program testbed to its end."""
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env=environment, timeout=timeout, **options)


def skip_unless_possible(*options):
    """Throws SkipTest with the reason when this machine cannot run such a bed."""
    checked = testbed("check", *options)
    if checked.returncode == CANNOT_HERE:
        raise unittest.SkipTest(checked.stderr.strip())
    assert checked.returncode == 0, checked.stderr


class Bed:
    """A bed that ends with this process at the latest."""

    def __init__(self, *options, **process_options):
        skip_unless_possible(*options)
        up = testbed("up", "--follow", os.getpid(), *STEADY, *options, **process_options)
        assert up.returncode == 0, up.stderr
        listed = subprocess.run(["sh", "-c", f"{up.stdout}\nenv -0"], capture_output=True, text=True, check=True)
        self.environment = dict(line.split("=", 1) for line in listed.stdout.split("\0") if line)
        self.state = pathlib.Path(self.environment["SLIPWAY_TESTBED"])
        self.shared = pathlib.Path(self.environment["SLIPWAY_TESTBED_SHARED"])

    def down(self):
        done = self.order("down")
        assert done.returncode == 0, done.stderr

    def order(self, *words):
        return testbed(*words, environment=self.environment)

    def start_again(self, node):
        """Starts a node that was killed. slurmctld, which may not have missed it, knows its new slurmd afterwards."""
        is_down = any(line.startswith(f"slurmd:{node} ") and "is down" in line
                      for line in self.order("status").stdout.splitlines())
        before = self.slurmd_began(node)
        done = self.order("start", f"node:{node}")
        assert done.returncode == 0, done.stderr
        if is_down:
            wait_for(lambda: self.slurmd_began(node) != before, PATIENCE_S, f"the new slurmd of {node}")

    def slurmd_began(self, node):
        """When it began, as slurmctld has it, in seconds."""
        facts = self.ask("scontrol", "--oneliner", "show", "node", node).split()
        return next(word for word in facts if word.startswith("SlurmdStartTime="))

    def client(self, *words, stdin=None, timeout=60):
        """Runs a client of Slurm as an ordinary user, in the shared folder."""
        return subprocess.run([str(word) for word in words], env={**self.environment, **OPEN_MPI}, cwd=self.shared,
                              capture_output=True, text=True, input=stdin or "", timeout=timeout, **ordinary_user())

    def ask(self, *words):
        """What a client prints. slurmctld may be busy for longer than a client waits: it is asked until it answers."""
        def answer():
            done = self.client(*words)
            return (done.stdout,) if done.returncode == 0 else None
        return wait_for(answer, PATIENCE_S, f"an answer to {' '.join(map(str, words))}")[0]

    def administrate(self, *words):
        """Runs a client of Slurm as the user whom the bed belongs to."""
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def submit(self, script, *options):
        """Submits a job script; returns the job's id. Its output is in ID.out in the shared folder."""
        done = self.client("sbatch", "--parsable", "--output=%j.out", *options, stdin=script)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def job(self, number):
        """What slurmctld says of a job, {field: value}; empty when it does not know the job."""
        def answer():
            shown = self.client("scontrol", "--oneliner", "show", "job", number)
            return shown if shown.returncode == 0 or "Invalid job id" in shown.stderr else None
        shown = wait_for(answer, PATIENCE_S, f"what slurmctld says of job {number}").stdout
        return dict(word.split("=", 1) for word in shown.split() if "=" in word)

    def state_of(self, number):
        return self.job(number).get("JobState")

    def wait_for_end(self, number, patience_s=PATIENCE_S):
        """Returns a job's final state; it may still be staging out until then."""
        final = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED")

        def final_state():
            state = self.state_of(number)
            return state if state in final else None
        return wait_for(final_state, patience_s, f"the end of job {number}")

    def situation(self):
        """The queue and the last words of slurmctld, for the message of a test that waited in vain."""
        log = self.state / "log" / "slurmctld.log"
        said = log.read_text(errors="replace").splitlines()[-30:] if log.exists() else []
        jobs = self.client("scontrol", "--oneliner", "show", "jobs").stdout.splitlines()[-5:]
        return "\n".join(["jobs:", *jobs, "slurmctld:", *said])

    def output_of(self, number):
        return (self.shared / f"{number}.out").read_text()

    def node_states(self):
        return dict(line.split() for line in self.ask("sinfo", "-h", "-N", "-p", "debug", "-o", "%N %t").splitlines())

    def wait_until_idle(self):
        """All nodes, and slurmctld answers."""
        wait_for(lambda: set(self.node_states().values()) == {"idle"}, 90, lambda: f"idle nodes: {self.node_states()}")


class TestWithBed(unittest.TestCase):
    """The tests of a class share a bed with these options."""
    OPTIONS = ()
    OWNER = {}  # options of subprocess.run: whom the bed belongs to, when not the user of the tests

    @classmethod
    def setUpClass(cls):
        cls.bed = Bed(*cls.OPTIONS, **cls.OWNER)
        cls.addClassCleanup(cls.bed.down)


def folder_for_all(case):
    """A folder that every user and the nodes of later beds see, unlike /tmp; removed after the tests of the class."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="slurm-bed-test-", dir="/var/tmp"))
    case.addClassCleanup(shutil.rmtree, folder)
    folder.chmod(0o755)
    return folder


class Folder:
    """A folder for a bed, short of path, that the test may look into afterwards."""

    def __init__(self, test):
        self._parent = pathlib.Path(tempfile.mkdtemp(prefix="slurm-bed-test-"))
        self._parent.chmod(0o755)
        test.addCleanup(shutil.rmtree, self._parent)
        self.path = self._parent / "bed"


def main():
    """Runs the tests of the program; exit code 77 when the machine could run none of them."""
    ran = unittest.main(exit=False, verbosity=2).result
    if not ran.wasSuccessful():
        sys.exit(1)
    skipped = [test for test, _ in ran.skipped if isinstance(test, unittest.TestCase)]  # without whole classes
    sys.exit(CANNOT_HERE if ran.testsRun == len(skipped) else 0)
