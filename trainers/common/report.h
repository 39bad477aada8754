/// What a training says: metrics for the launcher, lines for people. Includes libtorch's tensors.
#pragma once

#include <optional>
#include <string>

#include "runtime/slipway.hpp"
#include "trainers/common/arguments.h"
#include "trainers/common/evaluation.h"
#include "trainers/common/progress.h"
#include "trainers/common/records.h"
#include "trainers/common/step_share.h"
#include "trainers/common/task.h"

namespace trainers {

/// What is trained, for the first line.
struct Beginning {
  std::int64_t parameters = 0;
  std::int64_t training_records = 0;
  std::int64_t validation_records = 0;
  StepShare share;
};

/// How fast an epoch, or what was left of it, went by.
struct Pace {
  double seconds = 0;
  double waited_s = 0;  ///< for input
  std::int64_t records = 0;
};

/// Only rank 0 prints, except for Skipped(). The other ranks may call it as well.
class Report {
 public:
  /// `progress` says where each value belongs; it must outlive the report.
  Report(const Task& task, slipway::client::Session& session, const Progress& progress, std::int64_t steps_per_epoch);

  void Begin(const Beginning& beginning, const Arguments& arguments);
  /// From a checkpoint, with its progress.
  void GoOn(const Arguments& arguments);
  /// "train_loss" ...
  void Value(const std::string& name, double value);
  void Epoch(const Sums& train, const std::optional<Evaluated>& validation, const Pace& pace);
  /// "validation_loss", "validation_accuracy" ...
  void Values(const std::string& set, const Evaluated& evaluated);
  void Test(const Evaluated& evaluated);
  /// How many damaged records all ranks have passed over since the last call. Each rank names those that it has met
  /// first. Collective; nothing where a damaged record is an error.
  void Skipped(const std::string& set, Records& records);
  void Line(const std::string& text) const;

 private:
  void SumsOf(const std::string& set, const Sums& sums);
  std::string Described(const std::string& set, const Sums& sums, const NamedValues& further = {}) const;

  const Task& task_;
  slipway::client::Session& session_;
  const Progress& progress_;
  std::int64_t steps_per_epoch_;
};

}  // namespace trainers
