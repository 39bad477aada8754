/// What a training tells the run's MLPerf log, where the spec asks for one. Keys: docs/reference/metrics.md.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/slipway.hpp"
#include "trainers/common/arguments.h"
#include "trainers/common/step_share.h"

namespace trainers {

/// What stays the same from the first step to the last.
struct TrainingFacts {
  StepShare share;
  std::int64_t steps_per_epoch = 0;
  std::int64_t train_records = 0;
  std::int64_t evaluation_records = 0;
  bool seed_is_known = false;  ///< to the launcher, which has written it down
};

/// Epochs count from 1. Every call is local.
class RunLog {
 public:
  explicit RunLog(slipway::client::Session& session) : session_(session) {}

  void WriteFacts(const Arguments& arguments, const TrainingFacts& facts);
  void StartEpoch(std::int64_t epoch) { Mark(SLIPWAY_MLLOG_START, "epoch_start", epoch); }
  void StopEpoch(std::int64_t epoch) { Mark(SLIPWAY_MLLOG_STOP, "epoch_stop", epoch); }
  void WriteThroughput(std::int64_t epoch, double records_per_second);
  void StartEvaluation(std::int64_t epoch) { Mark(SLIPWAY_MLLOG_START, "eval_start", epoch); }
  /// `key`: eval_accuracy or eval_error.
  void StopEvaluation(std::int64_t epoch, const std::string& key, double value);

 private:
  void Mark(slipway_mllog_event event, const std::string& key, std::int64_t epoch);

  slipway::client::Session& session_;
};

}  // namespace trainers
