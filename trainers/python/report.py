"""What a training says: metrics for the launcher, lines for people. Only rank 0 says anything, but for skipped(); the
others may call it all the same."""

import numpy as np

import slipway


class Report:
    """`progress` says where each value belongs."""

    def __init__(self, records, progress, steps_per_epoch):
        self.records, self.progress, self.steps_per_epoch = records, progress, steps_per_epoch

    def line(self, text):
        if slipway.rank() == 0:
            print(text, flush=True)

    def values(self, values, before=""):
        """{"loss": 0.5} before which "train_" stands."""
        epoch = self.progress.epoch + self.progress.step_in_epoch / self.steps_per_epoch
        slipway.report(self.progress.step, {before + name: value for name, value in values.items()}, epoch=epoch)

    def begin(self, parameters, counts, share, arguments):
        """`counts`: of training and of validation records."""
        self.line(f"{parameters:,} parameters")
        ranks = f"{share.ranks} {'rank' if share.ranks == 1 else 'ranks'}"
        passes = "" if share.passes == 1 else f" in {share.passes} passes"
        averaged = f", weights averaged with decay {arguments.ema:.16g}" if arguments.ema > 0 else ""
        self.line(f"{counts[0]} training and {counts[1]} validation {self.records}, {share.in_all} a step on {ranks}{passes}, "
                  f"{arguments.optimizer} with lr {arguments.lr:.16g}{averaged}")
        self.values({"parameters": parameters})

    def go_on(self, arguments):
        """From a checkpoint, with its progress."""
        self.line(f"continuing at epoch {self.progress.epoch + 1}, step {self.progress.step}")
        had_average = self.progress.average_updates is not None
        if arguments.ema > 0 and not had_average:
            self.line("the checkpoint holds no averaged weights: the average begins with its weights")
        elif arguments.ema == 0 and had_average:
            self.line("the averaged weights of the checkpoint are left out: ema is 0")

    def epoch(self, train, validation, seconds, waited_s, trained):
        """`train` and `validation` (or None): means by name. `trained`: records of all ranks."""
        self.values(train, "train_")
        text = f"epoch {self.progress.epoch + 1}  loss {train['loss']:.4f}{_described(train)}"
        if validation:
            self.values(validation, "validation_")
            text += _described(validation, "validation ")
        if trained > 0:
            self.values({f"{self.records}_per_second": trained / seconds, "input_wait_share": waited_s / seconds})
            text += f"  {trained / seconds:.4g} {self.records}/s"
        self.line(text)

    def skipped(self, set_name, records):
        """How many damaged records all ranks have passed over since the last call. Each rank names those that it has met
        first. Collective; nothing where a damaged record is an error."""
        skipped = records.take_skipped()
        if skipped is None:
            return
        for record in skipped.first_met:
            print(f"damaged, skipped: {record['where']}: {record['reason']}", flush=True)
        count = int(slipway.allreduce(np.array([float(skipped.count)]))[0])
        self.values({f"{set_name}_skipped": count})
        if count > 0:
            self.line(f"{count} damaged {self.records} of {set_name} skipped")

    def test(self, means):
        self.values(means, "test_")
        self.line(_described(means, "test ").lstrip())


def _described(values, before=""):
    return "".join(f"  {before}{name} {value:.4f}" for name, value in values.items() if name != "loss")
