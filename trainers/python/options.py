"""The command line of a trainer: `--name value` for each entry of train.args, with the names and defaults that the
programs in C++ have."""

import dataclasses
import math


class UsageError(Exception):
    """A wrong command line or environment, the same on every rank; the program exits with 2."""


def whole_number(least, most):
    return _number(int, "whole number", least, most)


def number(least, most):
    return _number(float, "number", least, most)


def _number(kind, wanted, least, most):
    def parse(name, text):
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not least <= value <= most:
            raise UsageError(f"--{name} {text}: must be a {wanted} from {_shown(least)} to {_shown(most)}")
        return value
    return parse


def one_of(*words):
    def parse(name, text):
        if text not in words:
            raise UsageError(f"--{name} {text}: must be {' or '.join(words)}")
        return text
    return parse


@dataclasses.dataclass
class Option:
    name: str
    what: str
    default: object
    parse: object  # function of name and text; raises UsageError

    def described(self):
        return self.what if self.default is None else f"{self.what} ({_shown(self.default)})"


class Arguments:
    """What was said, each option as an attribute of its name."""

    def __init__(self, options):
        self._options = {option.name: option for option in options}
        for option in options:
            setattr(self, option.name, option.default)

    def take(self, words):
        """`--name value ...`; True when the words ask for --help."""
        for index in range(0, len(words), 2):
            if words[index] == "--help":
                return True
            name = words[index][2:] if words[index].startswith("--") else None
            if name not in self._options:
                raise UsageError(f"unknown argument '{words[index]}'; valid are --{', --'.join(self._options)}")
            if index + 1 == len(words):
                raise UsageError(f"{words[index]} needs a value")
            self._set(name, words[index + 1])
        return False

    def override(self, parameters):
        """Takes values of SLIPWAY_PARAMS. Names that are no option are left alone: they may be for others."""
        for name, value in parameters.items():
            if name in self._options:
                try:
                    self._set(name, str(value))
                except UsageError as error:
                    raise UsageError(f"SLIPWAY_PARAMS: {error}") from None

    def help(self):
        """A line for each option."""
        return "".join(f"  --{option.name:<18} {option.described()}\n" for option in self._options.values())

    def _set(self, name, text):
        setattr(self, name, self._options[name].parse(name, text))


def _shown(value):
    return value if isinstance(value, str) else f"{value:.16g}"


def common_options(records, *, batch_size=64, lr=1e-3, lr_scaling="none", lr_batch=64, optimizer="adam",
                   weight_decay=0.0):
    """Those of every trainer. `records` is what it calls them, the others are its own defaults."""
    return [
        Option("epochs", f"passes over the training {records}", 3, whole_number(0, 10**6)),
        Option("batch_size", f"{records} per rank and backward pass ({batch_size})", None,
               whole_number(1, 10**6)),
        Option("global_batch_size", f"{records} per step over all ranks, instead of batch_size", None,
               whole_number(1, 10**6)),
        Option("lr", "learning rate", lr, number(0, 1e3)),
        Option("lr_scaling", "with the global batch over lr_batch: none, linear or sqrt", lr_scaling,
               one_of("none", "linear", "sqrt")),
        Option("lr_batch", "the global batch that lr is right for", lr_batch, whole_number(1, 10**6)),
        Option("warmup_epochs", "the learning rate rises to its value in so many epochs", 0.0, number(0, 1e6)),
        Option("lr_decay", "constant, cosine (to 0 at the end) or linear", "constant",
               one_of("constant", "cosine", "linear")),
        Option("optimizer", "adam, sgd or lamb", optimizer, one_of("adam", "sgd", "lamb")),
        Option("momentum", "of sgd", 0.9, number(0, 1)),
        Option("weight_decay", "L2 penalty; of lamb decoupled", weight_decay, number(0, 1e3)),
        Option("trust", "trust coefficient: the step of each tensor follows its norm; 0 = it does not", 0.0,
               number(0, 1e3)),
        Option("trust_clip", "1: LARC, never beyond the learning rate; 0: LARS", 1, whole_number(0, 1)),
        Option("ema", "decay of the averaged weights, which are evaluated; 0 = they are not averaged", 0.0,
               number(0, 0.999999)),
        Option("seed", f"of the first weights and of the order of the {records}", 1, whole_number(0, 2**53)),
        Option(f"train_{records}", "train on the first so many only; 0 = all", 0, whole_number(0, 2**40)),
        Option("report_every", "steps between reports of the loss, the mean over ranks", 10, whole_number(1, 10**9)),
        Option("precision", "of training passes: fp32, bf16, or on GPUs fp16", "fp32", one_of("fp32", "bf16", "fp16")),
        Option("loss_scale", "first factor of the loss; 0 = 65536 with fp16, else losses are not scaled", 0.0,
               number(0, 3e38)),
        Option("device", "that computes: auto (a GPU if there is one), cpu or cuda", "auto", one_of("auto", "cpu", "cuda")),
        Option("threads", "for torch", 1, whole_number(1, 1024)),
        Option("reader_threads", "that prepare batches", 1, whole_number(1, 1024)),
        Option("predictions", f"1: leave predictions.npy of the validation {records} in $SLIPWAY_RUN_DIR", 1,
               whole_number(0, 1)),
    ]
