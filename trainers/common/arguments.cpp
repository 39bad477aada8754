#include "trainers/common/arguments.h"

#include <fmt/format.h>

namespace trainers {
namespace {

void AddRateOptions(OptionList& options, LearningRate& rate) {
  options.AddNumber("lr", fmt::format("learning rate ({})", rate.base), rate.base, 0.0, 1e3);
  options.AddWord("lr_scaling",
                  fmt::format("with the global batch over lr_batch: none, linear or sqrt ({})", rate.scaling),
                  rate.scaling, {"none", "linear", "sqrt"});
  options.AddInt("lr_batch", fmt::format("the global batch that lr is right for ({})", rate.batch), rate.batch, 1,
                 1'000'000);
  options.AddNumber("warmup_epochs",
                    fmt::format("the learning rate rises to its value in so many epochs ({})", rate.warmup_epochs),
                    rate.warmup_epochs, 0.0, 1e6);
  options.AddWord("lr_decay", fmt::format("constant, cosine (to 0 at the end) or linear ({})", rate.decay), rate.decay,
                  {"constant", "cosine", "linear"});
}

}  // namespace

void AddCommonOptions(OptionList& options, Arguments& arguments, const std::string& records) {
  options.AddInt("epochs", fmt::format("passes over the training {} ({})", records, arguments.epochs), arguments.epochs,
                 0, 1'000'000);
  options.AddInt("batch_size", fmt::format("{} per rank and backward pass ({})", records, arguments.usual_batch_size),
                 arguments.batch_size, 1, 1'000'000);
  options.AddInt("global_batch_size", fmt::format("{} per step over all ranks, instead of batch_size", records),
                 arguments.global_batch_size, 1, 1'000'000);
  AddRateOptions(options, arguments.rate);
  options.AddWord("optimizer", fmt::format("adam, sgd or lamb ({})", arguments.optimizer), arguments.optimizer,
                  {"adam", "sgd", "lamb"});
  options.AddNumber("momentum", fmt::format("of sgd ({})", arguments.momentum), arguments.momentum, 0.0, 1.0);
  options.AddNumber("weight_decay", fmt::format("L2 penalty; of lamb decoupled ({})", arguments.weight_decay),
                    arguments.weight_decay, 0.0, 1e3);
  options.AddNumber("trust", "trust coefficient: the step of each tensor follows its norm; 0 = it does not (0)",
                    arguments.trust, 0.0, 1e3);
  options.AddInt("trust_clip", "1: LARC, never beyond the learning rate; 0: LARS (1)", arguments.trust_clip, 0, 1);
  options.AddNumber("ema", "decay of the averaged weights, which are evaluated; 0 = they are not averaged (0)",
                    arguments.ema, 0.0, 0.999999);
  options.AddInt("seed", fmt::format("of the first weights and of the order of the {} (1)", records), arguments.seed, 0,
                 std::int64_t{1} << 53);
  options.AddInt("train_" + records, "train on the first so many only; 0 = all (0)", arguments.train_records, 0,
                 std::int64_t{1} << 40);
  options.AddInt("report_every", "steps between reports of the loss, the mean over ranks (10)", arguments.report_every,
                 1, 1'000'000'000);
  options.AddWord("precision", "of training passes: fp32, bf16, or on GPUs fp16 (fp32)", arguments.precision,
                  {"fp32", "bf16", "fp16"});
  options.AddNumber("loss_scale", "first factor of the loss; 0 = 65536 with fp16, else losses are not scaled (0)",
                    arguments.loss_scale, 0.0, 3e38);
  options.AddWord("device", "that computes: auto (a GPU if there is one), cpu or cuda (auto)", arguments.device,
                  {"auto", "cpu", "cuda"});
  options.AddInt("threads", "for libtorch (1)", arguments.threads, 1, 1024);
  options.AddInt("reader_threads", "that prepare batches (1)", arguments.reader_threads, 1, 1024);
  options.AddInt("predictions",
                 fmt::format("1: leave predictions.npy of the validation {} in $SLIPWAY_RUN_DIR (1)", records),
                 arguments.predictions, 0, 1);
}

}  // namespace trainers
