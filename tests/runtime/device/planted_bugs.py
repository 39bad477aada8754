#!/usr/bin/python3
"""Plants ordering bugs in the exchange of GPU tensors and expects runtime_device_tests to catch them.

    planted_bugs.py BUILD [--only NAME ...]

BUILD is a build folder of Ninja in which runtime_device_tests is up to date, such as build/dev: an optimised build may
have inlined the code that is changed. ordering_bugs.py is the list.
For each bug: compiles the changed file with the flags of the build, links it into a second libslipway, and runs the
tests with that library on two ranks. A failure, a crash and a hang count as caught. The same without a change has to
pass first. Exit code 1: an entry does not fit the source, the tests fail without a bug, or more than MOST_MISSED bugs
were missed.
"""

import argparse
import concurrent.futures
import dataclasses
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
PROGRAM = "runtime_device_tests"
MOST_MISSED = 2
LIMIT_S = 240
BATCH = 8  # bugs that are compiled together; ranks that wait for each other need the cores for themselves
VIOLATION = re.compile("(out of bounds|host race|race|freed in use|freed while mapped|no context|wrong context|stale handle): (cu|fake_)")


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


class Build:
    """How the build folder compiles, links and runs."""

    def __init__(self, folder, work):
        self.folder, self.work = folder, work
        commands = subprocess.run(["ninja", "-t", "commands", f"tests/{PROGRAM}"], cwd=folder, check=True,
                                  capture_output=True, text=True).stdout.splitlines()
        self.link = next(line for line in commands if "-Wl,-soname,libslipway.so" in line).split(" && ")[1]
        self.soname = re.search(r"-soname,(\S+)", self.link)[1]
        self.compilations = self._compilations()
        listed = subprocess.run(["ctest", "--show-only=json-v1", "-R", rf"^{PROGRAM}\.2$"], cwd=folder, check=True,
                                capture_output=True, text=True).stdout
        self.run = json.loads(listed)["tests"][0]["command"]

    def _compilations(self):
        """Source or unity source -> command, of the library of the default MPI."""
        entries = json.loads((self.folder / "compile_commands.json").read_text())
        ours = re.compile(r"-o runtime/CMakeFiles/slipway_runtime_(parts|base)\.dir/")
        return {entry["file"]: entry["command"] for entry in entries if ours.search(entry["command"])}

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

    def library(self, objects, folder):
        """The library with these objects before its own."""
        command = shlex.split(self.link)
        output = command.index("-o") + 1
        command[output] = str(folder / self.soname)
        command[output + 1:output + 1] = [*map(str, objects), "-Wl,--allow-multiple-definition"]
        subprocess.run(command, cwd=self.folder, check=True)
        return folder / self.soname

    def test(self, library, tests="*", variables=()):
        """Runs the tests with the library and these variables; ends at the first failure."""
        at = len(self.run) - 1
        command = [*self.run[:at], "env", f"LD_PRELOAD={library}", self.run[at], f"--gtest_filter={tests}"]
        environment = dict(os.environ, GTEST_BREAK_ON_FAILURE="1", GTEST_COLOR="no",
                           OMPI_MCA_btl_vader_backing_directory=str(library.parent),
                           **dict(variables))
        start = time.monotonic()
        log = library.parent / "output.txt"
        with log.open("wb") as out:
            code = run_for(LIMIT_S, command, cwd=library.parent, env=environment, stdout=out, stderr=subprocess.STDOUT)
        output = log.read_text(errors="replace")
        cause = cause_of(code, output)
        begun = re.findall(r"\[ RUN      \] (\S+)", output)
        return Result(cause, begun[-1] if cause and begun else "", time.monotonic() - start)


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


def control(build, files, variables):
    """The tests with all files as they are, with each of the variables."""
    folder = build.work / "control"
    folder.mkdir()
    objects = [build.compile(file, (ROOT / file).read_text(), folder) for file in files]
    library = build.library(objects, folder)
    results = [build.test(library, variables=each) for each in variables]
    return next((result for result in results if result.cause), results[0])


def plant(build, bug):
    folder = build.work / bug.name
    folder.mkdir()
    return build.library([build.compile(bug.file, source_of(bug), folder)], folder)


def try_all(build, bugs):
    """Prints a line for each bug. The names of those that were missed."""
    missed = []
    print(f"{'bug':44} {'caught by':14} {'seconds':>7}  rank 0 was in", flush=True)
    for first in range(0, len(bugs), BATCH):
        batch = bugs[first:first + BATCH]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            libraries = list(pool.map(lambda bug: plant(build, bug), batch))
        for bug, library in zip(batch, libraries):
            result = build.test(library, ordering_bugs.TESTS.get(bug.file, "*"), bug.variables)
            library.unlink()
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
        unchanged = control(build, sorted({bug.file for bug in bugs}), {bug.variables for bug in bugs})
        if unchanged.cause:
            print((build.work / "control" / "output.txt").read_text())
            sys.exit(f"the tests fail without a bug: {unchanged.cause} in {unchanged.test}")
        missed = try_all(build, bugs)
    print(f"{len(bugs) - len(missed)} of {len(bugs)} caught")
    sys.exit(1 if len(missed) > (MOST_MISSED if asked.only is None else 0) else 0)


if __name__ == "__main__":
    main()
