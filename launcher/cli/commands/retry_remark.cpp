#include "launcher/cli/commands/retry_remark.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "core/documents.h"
#include "core/units.h"

namespace slipway::launcher {
namespace {

using ensemble::AttemptRecord;

/// Seconds, as the run began or last went on. Nothing where the plan does not say.
std::optional<double> LimitInPlan(const std::filesystem::path& run_folder, std::string_view section) {
  const auto plan = Json::parse(ReadDocumentIfPresent(run_folder / "plan.json").value_or(""), nullptr, false);
  const Json::json_pointer field(fmt::format("/spec/{}/time_limit", section));
  if (!plan.is_object() || !plan.contains(field) || !plan.at(field).is_number()) return std::nullopt;
  return plan.at(field).get<double>();
}

double SecondsOf(const std::vector<AttemptRecord>& attempts) {
  double seconds = 0;
  for (const auto& attempt : attempts) {
    if (attempt.started && attempt.ended) seconds += std::max(0.0, *attempt.ended - *attempt.started);
  }
  return seconds;
}

/// Whole minutes, as Slurm counts, or seconds below one.
std::string Twice(double seconds) {
  const double twice = 2 * seconds;
  return twice < 60 ? fmt::format("{:.0f}s", std::ceil(twice)) : fmt::format("{:.0f}m", std::ceil(twice / 60));
}

std::string HowToGiveMore(const std::filesystem::path& run_folder, std::string_view section, double seconds,
                          bool has_manager) {
  const auto run = run_folder.filename().string();
  const auto resume = fmt::format("slipway resume {} --set {}.time_limit={}", run, section, Twice(seconds));
  return has_manager ? fmt::format("slipway cancel {}, then {}", run, resume) : resume;
}

}  // namespace

std::string RemarkOnRetry(const std::filesystem::path& run_folder, const std::vector<AttemptRecord>& attempts,
                          bool has_manager) {
  if (attempts.empty() || attempts.back().outcome != ensemble::Outcome::kTimedOut) return {};
  const bool of_trial = attempts.back().stop == ensemble::StopReason::kTrialTimeLimit;
  const std::string_view section = of_trial ? "ensemble" : "launch";
  const auto limit = LimitInPlan(run_folder, section);
  if (!limit) return {};
  if (!of_trial) {
    return fmt::format(
        "its job ran past launch.time_limit ({}) and will again, unless it goes on from a checkpoint; "
        "for more: {}",
        FormatDuration(Seconds(*limit)), HowToGiveMore(run_folder, section, *limit, has_manager));
  }
  const double used = SecondsOf(attempts);
  if (used < *limit) return {};
  return fmt::format(
      "it has used up ensemble.time_limit ({}), which counts all its attempts together, and times out at "
      "once; for more: {}",
      FormatDuration(Seconds(*limit)), HowToGiveMore(run_folder, section, used, has_manager));
}

}  // namespace slipway::launcher
