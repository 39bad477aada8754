"""What a training tells the run's MLPerf log, where the spec asks for one: the keys of trainers/common/run_log.h, which
docs/reference/metrics.md lists. Epochs count from 1."""

import slipway
from slipway.trainers import learning_rate


def facts(arguments, share, counts, seed_is_known):
    """What stays the same from the first step to the last. `counts`: of training and of evaluation records.
    `seed_is_known`: to the launcher, which has written it down."""
    known = {"global_batch_size": share.in_all, "gradient_accumulation_steps": share.passes, "train_samples": counts[0],
             "eval_samples": counts[1], **_of_the_optimizer(arguments, share)}
    if not seed_is_known:
        known["seed"] = arguments.seed
    for key, value in sorted(known.items()):
        slipway.mllog(key, value)


def _of_the_optimizer(arguments, share):
    base = learning_rate.peak(arguments, share.in_all)
    known = {"opt_name": arguments.optimizer, "opt_base_learning_rate": base,
             "opt_learning_rate_warmup_epochs": arguments.warmup_epochs,
             "opt_learning_rate_warmup_factor": base / arguments.lr if arguments.lr > 0 else 1.0,
             "opt_learning_rate_decay": arguments.lr_decay, "opt_weight_decay": arguments.weight_decay}
    if arguments.optimizer == "sgd":
        known["sgd_opt_momentum"] = arguments.momentum
    if arguments.trust > 0:
        known["opt_trust_coefficient"] = arguments.trust
    return known


def start_epoch(epoch):
    slipway.mllog("epoch_start", event="start", epoch_num=epoch)


def stop_epoch(epoch, trained, seconds):
    """`trained`: records of all ranks in so many seconds."""
    slipway.mllog("epoch_stop", event="stop", epoch_num=epoch)
    if trained > 0:
        slipway.mllog("tracked_stats", {"throughput": trained / seconds}, epoch_num=epoch)


def start_evaluation(epoch):
    slipway.mllog("eval_start", event="start", epoch_num=epoch)


def stop_evaluation(epoch, task, means):
    """Of the measures the first one is told."""
    key = "eval_accuracy" if task.classes else "eval_error"
    slipway.mllog(key, means[task.measure_names[0]], epoch_num=epoch)
    slipway.mllog("eval_stop", event="stop", epoch_num=epoch)
