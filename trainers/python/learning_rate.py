"""The learning rate of every step: a pure function, that of trainers/common/learning_rate.h."""

import math


def at(arguments, step, steps_per_epoch, global_batch):
    """At global step `step`, from 0."""
    highest = peak(arguments, global_batch)
    warmup = arguments.warmup_epochs * steps_per_epoch
    if step < warmup:
        return highest * (step + 1) / max(warmup, 1)
    rest = arguments.epochs * steps_per_epoch - warmup
    return highest * _left(arguments.lr_decay, min(1, (step - warmup) / rest) if rest > 0 else 0)


def peak(arguments, global_batch):
    """After the warm-up."""
    growth = global_batch / arguments.lr_batch
    return arguments.lr * {"none": 1, "linear": growth, "sqrt": math.sqrt(growth)}[arguments.lr_scaling]


def _left(decay, done):
    """What is left of the rate when `done`, 0 to 1, of the steps after the warm-up are done."""
    if decay == "cosine":
        return (1 + math.cos(math.pi * done)) / 2
    return 1 - done if decay == "linear" else 1
