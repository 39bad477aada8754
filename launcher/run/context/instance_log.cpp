#include "launcher/run/context/instance_log.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/clock.h"
#include "core/process.h"

namespace slipway::launcher {

InstanceLog::InstanceLog(const std::filesystem::path& folder, const Plan& plan, const Instance& instance,
                         Output& output)
    : spec_(*plan.spec().mllog),
      experiment_(plan.spec()),
      is_common_(instance.is_common),
      folder_(folder),
      output_(output) {
  try {
    if (const auto past = SetMllogAside(folder_)) continues_ = past->filename();
    file_.emplace(MllogIn(folder_));
  } catch (const std::exception& error) {
    GiveUp(error);
  }
  WriteHead(instance);
}

void InstanceLog::WriteHead(const Instance& instance) {
  Fact("submission_benchmark", spec_.benchmark);
  Fact("submission_org", spec_.org);
  Fact("submission_division", spec_.division);
  Fact("submission_status", spec_.status);
  Fact("submission_platform", spec_.platform.empty() ? HostName() : spec_.platform);
  Fact("cache_clear", false);  // only administrators may clear the caches of a node
  Write(MllogEvent::kStart, "init_start", nullptr, {}, SystemClock().Now());
  Fact("number_of_nodes", instance.nodes);
  Fact("number_of_ranks", instance.ranks);
  Fact("accelerators_per_node", experiment_.launch.ranks_per_node * experiment_.launch.gpus_per_rank);
  if (!is_common_) Fact("instance", instance.number);
  if (instance.parameters.contains("seed")) Fact("seed", instance.parameters["seed"]);
}

void InstanceLog::StartStaging() {
  if (experiment_.data.empty()) return;
  if (spec_.staging_included && !is_common_) BeginRun();
  Write(MllogEvent::kStart, "staging_start", nullptr, {}, SystemClock().Now());
}

void InstanceLog::StopStaging() {
  if (experiment_.data.empty()) return;
  const auto overlapped = std::ranges::count_if(experiment_.data, &DatasetSpec::overlap);
  const Json metadata = overlapped > 0 ? Json{{"overlapped", overlapped}} : Json::object();
  Write(MllogEvent::kStop, "staging_stop", nullptr, metadata, SystemClock().Now());
}

void InstanceLog::BeginRun() {
  if (run_ != Run::kAhead) return;
  run_ = Run::kUnderWay;
  const auto now = SystemClock().Now();
  Write(MllogEvent::kStop, "init_stop", nullptr, {}, now);
  const Json metadata = continues_.empty() ? Json::object() : Json{{"continues", continues_}};
  Write(MllogEvent::kStart, "run_start", nullptr, metadata, now);
}

void InstanceLog::StartRun(int attempt) {
  BeginRun();
  if (attempt > 1) Fact("attempt", attempt);
}

void InstanceLog::StopRun(bool success, std::string_view reason, WallTime when) {
  if (run_ != Run::kUnderWay) return;
  run_ = Run::kOver;
  const bool reached = !success || TargetReached();
  Json metadata{{"status", success && reached ? "success" : "aborted"}};
  if (!reached) {
    metadata["reason"] = fmt::format("no evaluation reached the target {}", *spec_.target);
  } else if (!reason.empty()) {
    metadata["reason"] = reason;
  }
  Write(MllogEvent::kStop, "run_stop", nullptr, metadata, when);
}

bool InstanceLog::TargetReached() const {
  if (!spec_.target) return true;
  return std::ranges::any_of(ReadMllog(MllogIn(folder_)), [&](const MllogLine& line) {
    const auto value = Json::parse(line.value, nullptr, false);
    if (!value.is_number()) return false;
    return (line.key == "eval_error" && value.get<double>() <= *spec_.target) ||
           (line.key == "eval_accuracy" && value.get<double>() >= *spec_.target);
  });
}

void InstanceLog::Fact(const std::string& key, const Json& value) {
  Write(MllogEvent::kPoint, key, value, {}, SystemClock().Now());
}

void InstanceLog::Write(MllogEvent event, const std::string& key, const Json& value, const Json& metadata,
                        WallTime when) {
  if (!file_) return;
  try {
    file_->Write(event, key, value, metadata, when);
  } catch (const std::exception& error) {
    GiveUp(error);
  }
}

void InstanceLog::GiveUp(const std::exception& error) {
  file_.reset();
  output_.Warn(fmt::format("the MLPerf log of '{}' ends here: {}", folder_.string(), error.what()));
}

}  // namespace slipway::launcher
