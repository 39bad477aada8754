#!/usr/bin/python3
"""scripts/build.sh: what is shown of a build, with lines as ninja prints them."""

import pathlib
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def bash(script, text=""):
    done = subprocess.run(["bash", "-c", f'set -euo pipefail; source "{ROOT}/scripts/build.sh"; {script}'], input=text,
                          capture_output=True, text=True)
    return done.returncode, done.stdout


class Progress(unittest.TestCase):
    def test_a_file_gets_a_line_for_each_tenth(self):
        steps = "".join(f"[{step}/200] Building CXX object a.o\n" for step in range(1, 201))
        status, shown = bash("show_progress", steps)
        self.assertEqual((status, len(shown.splitlines())), (0, 10), shown)
        self.assertEqual(shown.splitlines()[4], "   100 of 200 steps, less than a minute left")

    def test_warnings_and_errors_are_passed_on(self):
        _, shown = bash("show_progress", "[1/3] Building CXX object a.o\na.cpp:1: error: no\n  no ^\nninja: no work to do.\n")
        self.assertIn("a.cpp:1: error: no\n  no ^\n", shown)
        self.assertNotIn("no work", shown)

    def test_the_time_left_follows_from_the_steps_before(self):
        self.assertEqual(bash("minutes_left 50 200 60")[1], "about 3 min left\n")
        self.assertEqual(bash("minutes_left 100 200 59")[1], "less than a minute left\n")

    def test_a_build_that_fails_fails(self):
        status, _ = bash("cd /tmp; cmake() { [[ $1 != --build ]]; }; nproc() { echo 2; }; "
                         "cd \"$(mktemp -d)\"; build_preset dev || exit 7")
        self.assertEqual(status, 7)


if __name__ == "__main__":
    unittest.main()
