#include "launcher/run/results/settle_stage_out.h"

#include <nlohmann/json.hpp>

#include "core/output.h"

namespace slipway::launcher {
namespace {

using Refusing = std::vector<std::pair<staging::OutPlace, std::vector<staging::Refused>>>;

/// Names results of all places.
Error ErrorOf(const Refusing& places) {
  std::vector<staging::Refused> all;
  for (const auto& [place, refused] : places) all.insert(all.end(), refused.begin(), refused.end());
  return staging::ErrorOf(all);
}

}  // namespace

SettledStageOut SettleStageOut(const RunFolder& folder, StageOutRecord record, staging::StageOutOptions options) {
  if (!options.bytes_per_second) options.bytes_per_second = record.bandwidth;
  SettledStageOut settled;
  Refusing refusing;
  for (const auto& [place, trial] : OutPlacesIn(folder, record)) {
    auto report = staging::OutPlaceMover(place, record.keep, options).Settle();
    RecordReport(folder, trial, report);
    if (!report.refused.empty()) {
      refusing.emplace_back(place, report.refused);
    } else if (report.failure && !settled.failure) {
      settled.failure = report.failure;
    }
    settled.places.push_back({trial, std::move(report)});
  }
  if (!settled.failure && !refusing.empty()) settled.failure = ErrorOf(refusing);
  if (settled.failure) {
    for (const auto& [place, refused] : refusing) staging::RemoveCopied(place, refused);
    return settled;
  }
  record.state = StageOutState::kSettled;  // from here on a missing directory means: done, not lost
  WriteOutboxRecord(folder, record);
  RemoveOutbox(folder, record);
  return settled;
}

void WarnOfTorn(const SettledStageOut& settled, Output& output) {
  for (const auto& place : settled.places) {
    for (const auto& torn : place.report.torn) output.Warn(staging::Describe(torn));
  }
}

void RecordReport(const RunFolder& folder, std::optional<int> trial, const staging::OutReport& report) {
  const Json where = trial ? Json{{"trial", *trial}} : Json::object();
  const auto append = [&](std::string_view event, Json more) {
    more.update(where);
    folder.AppendEvent(event, more);
  };
  for (const auto& torn : report.torn) {
    append("checkpoint_torn", Json{{"step", torn.step}, {"reason", torn.reason}, {"directory", torn.kept_in.string()}});
  }
  for (const auto& moved : report.moved) {
    append("checkpoint_staged_out",
           Json{{"step", moved.step}, {"bytes", moved.bytes.count}, {"seconds", moved.elapsed.count()}});
  }
  if (report.outputs.files > 0) {
    append("outputs_staged_out", Json{{"files", report.outputs.files}, {"bytes", report.outputs.bytes.count}});
  }
  if (report.failure) append("stage_out_failed", Json{{"reason", report.failure->what()}});
}

}  // namespace slipway::launcher
