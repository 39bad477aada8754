#!/usr/bin/python3
"""Plants ordering bugs in the exchange of GPU tensors and expects the tests to catch them.

    planted_bugs.py BUILD [--only NAME ...]

BUILD is a build folder of Ninja in which the programs of the tests are up to date, such as build/dev: an optimised
build may have inlined the code that is changed. ordering_bugs.py is the list. A bug names the test of ctest that has to
catch it, most of them runtime_device_tests.2.
For each bug: compiles the changed file with the flags of the build, and links it into a second libslipway, with which
the test runs. A program without libslipway, which has its parts inside, is linked again. A failure, a crash and a hang
count as caught. The same without a change has to pass first. Exit code 1: an entry does not fit the source, the tests
fail without a bug, or more than MOST_MISSED bugs were missed.
"""

import argparse
import concurrent.futures
import dataclasses
import functools
import json
import os
import pathlib
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import time

import ordering_bugs

ROOT = pathlib.Path(__file__).resolve().parents[3]
MOST_MISSED = 2
LIMIT_S = 240
BATCH = 8  # bugs that are compiled together; ranks that wait for each other need the cores for themselves
VIOLATION = re.compile("(out of bounds|host race|race|freed in use|freed while mapped|no context|wrong context"
                       "|stale handle): (cu|fake_)")


@dataclasses.dataclass
class Result:
    cause: str  # empty: not caught
    test: str  # the last one that rank 0 began
    seconds: float


def source_of(bug):
    """The changed text. Errors: ValueError when the list does not fit the source."""
    text = (ROOT / bug.file).read_text()
    if text.count(bug.old) != 1 or bug.old == bug.new:
        raise ValueError(f"{bug.name}: its text occurs {text.count(bug.old)} times in {bug.file}, not once: "
                         "write the bug into the new source")
    return text.replace(bug.old, bug.new)


@dataclasses.dataclass(frozen=True)
class Test:
    """What ctest runs."""
    name: str
    command: tuple
    program: int  # where the program is in the command
    variables: tuple
    passes_by: str  # what its output then has, whatever the exit code is; empty: the exit code counts


@dataclasses.dataclass(frozen=True)
class Product:
    """What a changed object was linked into."""
    path: pathlib.Path
    preloaded: bool  # a library; else the program itself


@dataclasses.dataclass(frozen=True)
class Run:
    """A test, or some of the tests of its program, with variables of the environment."""
    test: str
    filter: str
    variables: tuple


def test_of(bug):
    return bug.test or ordering_bugs.CAUGHT_BY.get(bug.file, ordering_bugs.USUAL)


def run_of(bug):
    test = test_of(bug)
    tests = "" if program_of(test) in ordering_bugs.ONE_TEST_EACH else ordering_bugs.TESTS.get(bug.file, "")
    return Run(test, bug.tests or tests, bug.variables)


def program_of(test):
    return test.split(".")[0]


class Build:
    """How the build folder compiles, links and runs."""

    def __init__(self, folder, work):
        self.folder, self.work = folder, work
        self.compilations = self._compilations()

    def _compilations(self):
        """Source or unity source -> command, of the library of the default MPI."""
        entries = json.loads((self.folder / "compile_commands.json").read_text())
        ours = re.compile(r"-o runtime/CMakeFiles/slipway_runtime_(parts|base)\.dir/")
        return {entry["file"]: entry["command"] for entry in entries if ours.search(entry["command"])}

    @functools.cache
    def _link_of(self, program):
        """The command that links libslipway for this program, or the program itself; and whether it is the library."""
        lines = subprocess.run(["ninja", "-t", "commands", f"tests/{program}"], cwd=self.folder, check=True,
                               capture_output=True, text=True).stdout.splitlines()
        library = next((line for line in lines if "-Wl,-soname,libslipway.so" in line), None)
        return (library or lines[-1]).split(" && ")[1], library is not None

    @functools.cache
    def _test(self, name):
        listed = subprocess.run(["ctest", "--show-only=json-v1", "-R", f"^{re.escape(name)}$"], cwd=self.folder,
                                check=True, capture_output=True, text=True).stdout
        found = json.loads(listed)["tests"][0]
        properties = {each["name"]: each["value"] for each in found["properties"]}
        command = tuple(found["command"])
        program = next(at for at, part in enumerate(command) if part.endswith(f"/tests/{program_of(name)}"))
        variables = tuple(tuple(each.split("=", 1)) for each in properties.get("ENVIRONMENT", []))
        passes_by = "".join(properties.get("PASS_REGULAR_EXPRESSION", []))
        return Test(name, command, program, variables, passes_by)

    def _command_for(self, file):
        path = str(ROOT / file)
        for compiled, command in self.compilations.items():
            unity = "/Unity/" in compiled and f'"{path}"' in pathlib.Path(compiled).read_text()
            if compiled == path or unity:
                return shlex.split(command)
        raise ValueError(f"{file} is in no library of {self.folder}")

    def compile(self, file, text, folder):
        """The object of a file with this text."""
        source = folder / pathlib.Path(file).name
        source.write_text(text)
        command = self._command_for(file)
        command[command.index("-o") + 1] = str(source) + ".o"
        command[command.index("-c") + 1] = str(source)
        command.insert(1, "-w")
        command = [each for each in command if each != "-Werror"] + ["-g0"]
        subprocess.run(command, cwd=self.folder, check=True)
        return source.with_name(source.name + ".o")

    def link(self, objects, program, folder):
        """What the program runs with these objects before the build's own."""
        text, is_library = self._link_of(program)
        command = shlex.split(text)
        output = command.index("-o") + 1
        path = folder / (re.search(r"-soname,(\S+)", text)[1] if is_library else program)
        if not is_library:  # it finds its libraries from another folder
            folder_of_program = str((self.folder / command[output]).parent)
            command = [each.replace(r"\$ORIGIN", folder_of_program) for each in command]
        command[output] = str(path)
        command[output + 1:output + 1] = [*map(str, objects), "-Wl,--allow-multiple-definition"]
        subprocess.run(command, cwd=self.folder, check=True)
        return Product(path, is_library)

    def run(self, product, run):
        """Runs a test with what was linked; ends at the first failure."""
        test, folder = self._test(run.test), product.path.parent
        before, (program, *rest) = test.command[:test.program], test.command[test.program:]
        started = ["env", f"LD_PRELOAD={product.path}", program] if product.preloaded else [str(product.path)]
        command = [*before, *started, *rest, *([f"--gtest_filter={run.filter}"] if run.filter else [])]
        environment = dict(os.environ, GTEST_BREAK_ON_FAILURE="1", GTEST_COLOR="no",
                           OMPI_MCA_btl_vader_backing_directory=str(folder),
                           **dict(test.variables), **dict(run.variables))
        start = time.monotonic()
        log = folder / "output.txt"
        with log.open("wb") as out:
            code = run_for(LIMIT_S, command, cwd=folder, env=environment, stdout=out, stderr=subprocess.STDOUT)
        output = log.read_text(errors="replace")
        if code and test.passes_by and re.search(test.passes_by, output) and "FAILED" not in output:
            code = 0
        cause = cause_of(code, output)
        begun = re.findall(r"\[ RUN      \] (\S+)", output)
        return Result(cause, (begun[-1] if begun else run.test) if cause else "", time.monotonic() - start)


def run_for(seconds, command, **options):
    """The exit code; None where a limit ended it. mpiexec ends its ranks at SIGTERM."""
    with subprocess.Popen(command, **options) as program:
        try:
            return program.wait(seconds)
        except subprocess.TimeoutExpired:
            program.terminate()
            return None


def cause_of(code, output):
    if code == 0:
        return ""
    if code is None or " hangs in " in output:
        return "hang"
    if violation := VIOLATION.search(output):
        return violation[1]
    return "difference" if "Failure" in output or re.search(r"^rank \d+: .*_test\.cpp:\d+", output, re.M) else "crash"


def control(build, bugs):
    """The runs that are to catch bugs, with all files as they are. The first failure with its output, or nothing."""
    folder = build.work / "control"
    folder.mkdir()
    files = sorted({bug.file for bug in bugs})
    objects = [build.compile(file, (ROOT / file).read_text(), folder) for file in files]
    runs = {run_of(bug) for bug in bugs}
    products = {program: build.link(objects, program, folder) for program in {program_of(run.test) for run in runs}}
    for run in sorted(runs, key=str):
        result = build.run(products[program_of(run.test)], run)
        if result.cause:
            return result, (folder / "output.txt").read_text(errors="replace")
    return None


def plant(build, bug):
    folder = build.work / bug.name
    folder.mkdir()
    return build.link([build.compile(bug.file, source_of(bug), folder)], program_of(test_of(bug)), folder)


def try_all(build, bugs):
    """Prints a line for each bug. The names of those that were missed."""
    missed = []
    print(f"{'bug':44} {'caught by':14} {'seconds':>7}  rank 0 was in", flush=True)
    for first in range(0, len(bugs), BATCH):
        batch = bugs[first:first + BATCH]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            products = list(pool.map(lambda bug: plant(build, bug), batch))
        for bug, product in zip(batch, products):
            result = build.run(product, run_of(bug))
            product.path.unlink()
            if not result.cause:
                missed.append(bug.name)
            print(f"{bug.name:44} {result.cause or 'MISSED':14} {result.seconds:7.1f}  {result.test}", flush=True)
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("build", type=pathlib.Path)
    names = [bug.name for bug in ordering_bugs.BUGS]
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=names, help="these bugs alone")
    asked = parser.parse_args()
    bugs = [bug for bug in ordering_bugs.BUGS if asked.only is None or bug.name in asked.only]
    if len(set(names)) != len(names):
        sys.exit("two bugs have the same name")
    try:
        for bug in ordering_bugs.BUGS:  # also what is not planted now
            source_of(bug)
    except ValueError as error:
        sys.exit(str(error))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory(prefix="planted-bugs-", ignore_cleanup_errors=True) as work:
        build = Build(asked.build.resolve(), pathlib.Path(work))
        if failed := control(build, bugs):
            result, output = failed
            print(output)
            sys.exit(f"the tests fail without a bug: {result.cause} in {result.test}")
        missed = try_all(build, bugs)
    print(f"{len(bugs) - len(missed)} of {len(bugs)} caught")
    sys.exit(1 if len(missed) > (MOST_MISSED if asked.only is None else 0) else 0)


if __name__ == "__main__":
    main()
