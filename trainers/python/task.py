"""What one trainer adds to the common training: its records, its network, its loss, what it measures."""

import torch

from slipway.trainers.options import common_options


class Task:
    name = None      # "hepcnn": what the program is called
    about = None     # the first line of --help
    records = None   # "images": what its records are called
    defaults = {}    # its own, of the common options
    classes = 0      # labels are first_label and the classes - 1 numbers after it; 0: the targets are values
    first_label = 0
    measure_names = ()    # of what is measured beside the loss, as means over records
    measures_all = False  # of_all() wants the predictions of every evaluated record

    def own_options(self):
        return []

    def options(self):
        return self.own_options() + common_options(self.records, **self.defaults)

    def configure(self, arguments):
        """Takes what was said for its own options, before anything else is asked. UsageError when they do not go
        together."""

    def input(self, training):
        """The field of a record that the model takes, as the reader is to deliver it, with its shape: files that hold
        anything else are refused. float32."""
        raise NotImplementedError

    def target(self):
        """The field that is to be predicted: int64 labels or float32 values."""
        raise NotImplementedError

    def input_shape(self):
        """The input as the model takes it; of as many values."""
        raise NotImplementedError

    def prepared(self, values):
        """What the network begins with where it is no layer: the logarithm of 1 + x. Values of which that is not finite
        are the fault of their record."""
        return values

    def make_model(self):
        """With weights drawn from torch's generator, in the order of the layers."""
        raise NotImplementedError

    def shape(self):
        """What fixes the shapes of the model, for checkpoints: {"channels": 8}."""
        raise NotImplementedError

    def loss(self, outputs, targets):
        """The mean over the batch."""
        raise NotImplementedError

    def predictions(self, outputs):
        """What predictions.npy holds: [batch, outputs]."""
        return outputs

    def measures(self, outputs, targets):
        """Sums over the batch, in the order of measure_names."""
        raise NotImplementedError

    def of_all(self, predictions, targets):
        """What is no mean over records, of the predictions [records, outputs] and targets of a whole set."""
        return {}


class Classification(Task):
    """The model gives a score for each class: cross-entropy, accuracy, softmax as predictions."""

    label = "label"  # the field
    measure_names = ("accuracy",)

    def target(self):
        return {"name": self.label, "type": "int64", "shape": []}

    def loss(self, outputs, targets):
        return torch.nn.functional.cross_entropy(outputs, targets - self.first_label)

    def predictions(self, outputs):
        return torch.softmax(outputs, 1)

    def measures(self, outputs, targets):
        return [outputs.argmax(1).eq(targets - self.first_label).sum().item()]
