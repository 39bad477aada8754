#include "trainers/common/run_log.h"

#include <nlohmann/json.hpp>

namespace trainers {
namespace {

using nlohmann::json;

std::string OfEpoch(std::int64_t epoch) { return json{{"epoch_num", epoch}}.dump(); }

json OptimizerFacts(const Arguments& arguments, const TrainingFacts& facts) {
  const auto& rate = arguments.rate;
  LearningRate after_warmup = rate;
  after_warmup.warmup_epochs = 0;
  const double base = after_warmup.At(0, facts.steps_per_epoch, arguments.epochs, facts.share.Global());
  json list{{"opt_name", arguments.optimizer},
            {"opt_base_learning_rate", base},
            {"opt_learning_rate_warmup_epochs", rate.warmup_epochs},
            {"opt_learning_rate_warmup_factor", rate.base > 0 ? base / rate.base : 1.0},
            {"opt_learning_rate_decay", rate.decay},
            {"opt_weight_decay", arguments.weight_decay}};
  if (arguments.optimizer == "sgd") list["sgd_opt_momentum"] = arguments.momentum;
  if (arguments.trust > 0) list["opt_trust_coefficient"] = arguments.trust;
  return list;
}

}  // namespace

void RunLog::WriteFacts(const Arguments& arguments, const TrainingFacts& facts) {
  auto list = OptimizerFacts(arguments, facts);
  list["global_batch_size"] = facts.share.Global();
  list["gradient_accumulation_steps"] = facts.share.passes;
  list["train_samples"] = facts.train_records;
  list["eval_samples"] = facts.evaluation_records;
  if (!facts.seed_is_known) list["seed"] = arguments.seed;
  for (const auto& [key, value] : list.items()) session_.Mllog(SLIPWAY_MLLOG_POINT, key, value.dump());
}

void RunLog::WriteThroughput(std::int64_t epoch, double records_per_second) {
  session_.Mllog(SLIPWAY_MLLOG_POINT, "tracked_stats", json{{"throughput", records_per_second}}.dump(), OfEpoch(epoch));
}

void RunLog::StopEvaluation(std::int64_t epoch, const std::string& key, double value) {
  session_.Mllog(SLIPWAY_MLLOG_POINT, key, json(value).dump(), OfEpoch(epoch));
  Mark(SLIPWAY_MLLOG_STOP, "eval_stop", epoch);
}

void RunLog::Mark(slipway_mllog_event event, const std::string& key, std::int64_t epoch) {
  session_.Mllog(event, key, "null", OfEpoch(epoch));
}

}  // namespace trainers
