#!/usr/bin/python3
"""The log of MLPerf of a training over several nodes, and of trials that are jobs of their own."""

import json

import fashion_test
import support

LINE = ":::MLLOG "


def lines_of(folder):
    text = (folder / "mllog.txt").read_text()
    return [json.loads(line.removeprefix(LINE)) for line in text.splitlines() if line.startswith(LINE)]


def course_of(lines):
    """What begins and ends, in the order of the file."""
    return [line["key"] for line in lines if line["event_type"] != "POINT_IN_TIME"]


def epochs(count):
    return ["epoch_start", "epoch_stop", "eval_start", "eval_stop"] * count


class Logs(fashion_test.Fashion):
    def value_of(self, lines, key):
        found = [line["value"] for line in lines if line["key"] == key]
        self.assertEqual(len(found), 1, f"{key} in {lines}")
        return found[0]

    def assert_success(self, lines):
        self.assertEqual(lines[-1]["key"], "run_stop")
        self.assertEqual(lines[-1]["metadata"], {"status": "success"})
        times = [line["time_ms"] for line in lines]
        self.assertEqual(times, sorted(times))

    def test_of_a_training_over_nodes_has_each_line_once(self):
        folder = self.carry_out("fashion.yaml", "slurm", "launch.nodes=2", "launch.ranks_per_node=2", "train.args.epochs=2",
                                "train.args.batch_size=32", "mllog.write=true")
        lines = lines_of(folder)
        self.assert_success(lines)
        self.assertEqual(course_of(lines), ["init_start", "staging_start", "staging_stop", "init_stop", "run_start",
                                            *epochs(2), "run_stop"])
        for key, value in (("number_of_nodes", 2), ("number_of_ranks", 4), ("instance", 0), ("global_batch_size", 4 * 32)):
            self.assertEqual(self.value_of(lines, key), value)

    def test_of_trials_that_are_jobs_each_has_its_own_and_they_add_up(self):
        folder = self.carry_out("fashion-ensemble.yaml", "slurm", "ensemble.trials=2", "ensemble.placement=job",
                                "ensemble.nodes_per_trial=2", "train.args.train_images=320", "mllog.write=true")
        for number in (0, 1):
            lines = lines_of(folder / f"trials/{number:05}")
            self.assert_success(lines)
            self.assertEqual((self.value_of(lines, "instance"), self.value_of(lines, "number_of_nodes")), (number, 2))
            self.assertEqual(course_of(lines)[-5:], [*epochs(1), "run_stop"])
        told = json.loads(self.slipway("trials", "throughput", folder.name, "--json").stdout)
        self.assertEqual([told[key] for key in ("instance_scale", "models", "converged")], [2, 2, 2])
        self.assertIn(told["system_scale"], (2, 4))  # one after the other, or beside each other


if __name__ == "__main__":
    support.main()
