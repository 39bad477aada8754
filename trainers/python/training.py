"""The training itself: steps, evaluation, checkpoints."""

import enum
import itertools
import math
import time

import numpy as np
import torch

import slipway
import slipway.torch
from slipway.trainers import (checkpoints, device, learning_rate, loss_scale, optimizers, records, run_log,
                              weight_average)
from slipway.trainers.evaluation import Sums, blame_record, evaluate
from slipway.trainers.options import UsageError
from slipway.trainers.report import Report
from slipway.trainers.step_share import share_step


class Ending(enum.Enum):
    DONE = "trained to the end, or stopped as the launcher asked, after a checkpoint"
    AT_LIMIT = "came to the limit of its scheduler, with a checkpoint to go on from"


class Training:
    """Of a task in the job that this process has joined."""

    def __init__(self, task, arguments, settings):
        torch.set_num_threads(arguments.threads)
        torch.manual_seed(arguments.seed)  # the first weights follow from it
        self.task, self.arguments, self.settings = task, arguments, settings
        self.share = share_step(arguments, task.defaults.get("batch_size", 64), settings.accumulate, slipway.size())
        self.device = device.chosen(arguments)
        self.records = records.for_training(task, settings, arguments, self.share.batch, self.device)
        self.steps = self._steps_per_epoch()
        # Before any training: a set that cannot be read should not cost hours.
        validates = settings.validation_fraction > 0
        self.validation = records.for_validation(task, settings, self.share.batch, self.device) if validates else None
        self.test = records.for_test(task, settings, self.share.batch, self.device) if settings.has_test_data else None
        self.model = task.make_model().to(self.device)
        slipway.torch.broadcast_parameters(self.model.state_dict())
        self.optimizer = slipway.torch.DistributedOptimizer(
            optimizers.make(arguments, list(self.model.parameters())), self.model.named_parameters(), team="model",
            total_steps=self.steps * arguments.epochs)
        self.average = weight_average.WeightAverage(arguments.ema, self.model) if arguments.ema > 0 else None
        self.scaler = loss_scale.scaler_of(arguments, settings)
        self.parts = checkpoints.Parts(self.model, self.optimizer, self.average, self.scaler)
        self.progress = checkpoints.Progress()
        self.sums = Sums()  # of this rank, in this epoch
        self.report = Report(task.records, self.progress, self.steps)
        self.saved = time.monotonic()

    def _steps_per_epoch(self):
        # All that are begun where records repeat.
        filled_up = self.share.passes - 1 if self.settings.remainder == "repeat" else 0
        steps = (self.records.passes + filled_up) // self.share.passes
        if steps == 0:
            raise UsageError(f"{self.records.count} training {self.task.records} are fewer than one step of "
                             f"{self.share.in_all}")
        return steps

    def run(self):
        self.begin()
        if self.progress.epoch >= self.arguments.epochs:
            # A trial that begins with the weights of one that was done has a value all the same.
            self.report.values(self.validate() or {}, "validation_")
        while self.progress.epoch < self.arguments.epochs:
            if not self.train_epoch():
                return Ending.DONE
            self.next_epoch()
            if self.is_at_limit():
                return Ending.AT_LIMIT
        self.check_match()
        with weight_average.in_place(self.average):
            if self.average:
                self.check_match()
            self.report.values({"replicas_match": 1})
            if self.test:
                self.report.test(evaluate(self.task, self.model, self.test))
                self.report.skipped("test", self.test)
        return Ending.DONE

    def check_match(self):
        slipway.check_match({name: values.detach() for name, values in self.model.named_parameters()})

    def begin(self):
        restored = checkpoints.restore(self.parts, self.course())
        if restored:
            checkpoints.require_same_shares(restored, self.records.shares)
            self.progress = self.report.progress = restored
            # The first rank holds what was summed up before; the others add what they train from now on.
            self.sums = restored.train if slipway.rank() == 0 else Sums()
        self.progress.shares = self.records.shares
        parameters = sum(values.numel() for values in self.model.parameters())
        counts = self.records.count, self.validation.count if self.validation else 0
        self.report.begin(parameters, counts, self.share, self.arguments)
        if self.device.type != "cpu":
            self.report.line(f"computing on {device.name_of(self.device)}")
        if restored:
            self.report.go_on(self.arguments)
        run_log.facts(self.arguments, self.share, counts, seed_is_known="seed" in self.settings.parameters)
        self.records.begin(self.progress.epoch, self.progress.step_in_epoch * self.share.passes)

    def train_epoch(self):
        """False when the launcher has asked to stop; a checkpoint is written then."""
        first_step, waited, began = self.progress.step_in_epoch, self.records.waited_s, time.monotonic()
        self.model.train()
        run_log.start_epoch(self.progress.epoch + 1)
        batches = self.batches()
        while self.progress.step_in_epoch < self.steps:
            self.step(batches)
            if slipway.stop_requested():
                self.checkpoint()
                self.report.line(f"stopping as asked, after step {self.progress.step}")
                return False
            if self.checkpoint_is_due():
                self.checkpoint()
        for _ in batches:  # what fills no step
            pass
        seconds = time.monotonic() - began
        trained = (self.progress.step_in_epoch - first_step) * self.share.in_all
        run_log.stop_epoch(self.progress.epoch + 1, trained, seconds)
        train = self.sums.over_ranks(self.task).means()
        self.report.epoch(train, self.validate(), seconds, self.records.waited_s - waited, trained)
        self.report.skipped("train", self.records)
        if self.validation:
            self.report.skipped("validation", self.validation)
        return True

    def batches(self):
        """To the end of the epoch. Where records repeat, the passes that the last step lacks are the first ones again."""
        yield from self.records
        missing = self.steps * self.share.passes - self.records.passes
        if missing <= 0:
            return
        while missing > 0:
            self.records.begin(self.progress.epoch, 0)
            yield from itertools.islice(self.records, missing)
            missing -= self.records.passes
        self.records.begin(self.progress.epoch + 1, 0)

    def step(self, batches):
        """One step of the optimizer."""
        loss = sum(self.backward(next(batches)) for _ in range(self.share.passes)) / self.share.passes
        if self.optimizer.delivered:
            self.apply_gradients()
        self.progress.step += 1
        self.progress.step_in_epoch += 1
        if self.progress.step % self.arguments.report_every == 0:
            self.report.values({"train_loss": slipway.average(loss)})

    def backward(self, batch):
        """One pass: gradients and their exchange; returns the loss."""
        outputs = self.forward(batch.input)
        loss = self.task.loss(outputs, batch.target)
        value = loss.item()
        if not math.isfinite(value):
            self.fail_on(batch, value)
        self.optimizer.zero_grad(set_to_none=True)
        (self.scaler.scale(loss) if self.scaler else loss).backward()
        self.optimizer.synchronize()
        self.sums.add(self.task, value, outputs.detach(), batch.target)
        return value

    def forward(self, values):
        """Of training. With 16 bits, what torch holds to be safe in them; weights, loss and outputs are float32."""
        dtype = torch.float16 if self.arguments.precision == "fp16" else torch.bfloat16
        with torch.autocast(self.device.type, dtype=dtype, enabled=self.arguments.precision != "fp32"):
            return self.model(values).float()

    def fail_on(self, batch, loss):
        """What the loss is not finite for: a record, weights, or the size of the steps."""
        blame_record(self.task, self.records, batch)
        name = checkpoints.not_finite(self.model)
        weights = "" if name is None else f", where the weights '{name}' are not finite"
        raise RuntimeError(f"the loss is {'nan' if math.isnan(loss) else 'infinite'} at step {self.progress.step} on rank {slipway.rank()}{weights}: try a "
                           f"smaller learning rate than {self.arguments.lr:.16g}, or gradients.clip_norm")

    def apply_gradients(self):
        if self.scaler:
            self.scaler.unscale_(self.optimizer)
        rate = learning_rate.at(self.arguments, self.progress.step, self.steps, self.share.in_all)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        if self.arguments.trust > 0:
            optimizers.scale_by_trust(self.arguments, self.model.parameters(), rate)
        if self.optimizer_steps() and self.average:
            self.average.update()

    def optimizer_steps(self):
        """False when a gradient overflowed: the step is left out, on all ranks."""
        if not self.scaler:
            self.optimizer.step()
            return True
        before, step = self.scaler.get_scale(), self.progress.step
        self.scaler.step(self.optimizer)
        self.scaler.update()
        factor = self.scaler.get_scale()
        if factor >= before:
            return True
        self.report.line(f"a gradient overflowed at step {step}: the step is left out, losses are now scaled by "
                         f"{factor:.16g}")
        if factor < loss_scale.LEAST_FACTOR:
            raise RuntimeError(f"gradients are not finite at step {step}, however losses are scaled: try a smaller "
                               f"learning rate than {self.arguments.lr:.16g}")
        return False

    def validate(self):
        """What the model is worth, or None. After the last epoch its predictions are left behind."""
        if self.validation is None:
            return None
        last = self.progress.epoch + 1 >= self.arguments.epochs
        folder = self.settings.run_folder if self.arguments.predictions and last else None
        run_log.start_evaluation(self.progress.epoch + 1)
        with weight_average.in_place(self.average):
            means = evaluate(self.task, self.model, self.validation, folder)
        run_log.stop_evaluation(self.progress.epoch + 1, self.task, means)
        return means

    def next_epoch(self):
        self.progress.epoch += 1
        self.progress.step_in_epoch = 0
        self.sums = Sums()
        self.checkpoint()

    def is_at_limit(self):
        """Only where there is something to go on with, and a checkpoint to go on from."""
        limit, resource = self.settings.limit, self.settings.resource
        done = {"epoch": self.progress.epoch, "step": self.progress.step}.get(resource, -math.inf)
        if limit is None or done < limit or not self.settings.checkpoints or self.progress.epoch >= self.arguments.epochs:
            return False
        self.report.line(f"ending at the limit of {resource} {limit:g}")
        return True

    def checkpoint_is_due(self):
        """The first rank's clock decides for all."""
        if not self.settings.checkpoint_every_s or not self.settings.checkpoints:
            return False
        due = np.array([float(time.monotonic() - self.saved >= self.settings.checkpoint_every_s)])
        return bool(slipway.broadcast(due)[0])

    def checkpoint(self):
        if self.settings.checkpoints:
            self.progress.train = self.sums.over_ranks(self.task)
            checkpoints.write(self.parts, self.progress, self.course())
            self.saved = time.monotonic()

    def course(self):
        """What a checkpoint can only be continued with: another value would mean another model or other records. The
        first that differs is told."""
        course = {"trainer": f"slipway.trainers.{self.task.name}", **self.task.shape(), "optimizer": self.arguments.optimizer,
                  "global_batch_size": self.share.in_all, "seed": self.arguments.seed,
                  f"train_{self.task.records}": self.records.count, "validation_seed": self.settings.validation_seed,
                  "data.train.seed": self.settings.data_seed, "data.train.remainder": self.settings.remainder}
        return {name: str(value) for name, value in course.items()}
