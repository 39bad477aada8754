#include "staging/out/out_place.h"

#include <fmt/format.h>

#include "staging/out/checkpoint_sides.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

void Add(OutReport& report, MoverRound round) {
  if (round.moved) report.moved.push_back(*round.moved);
  report.torn.insert(report.torn.end(), round.torn.begin(), round.torn.end());
  if (round.failure && !report.failure) report.failure = std::move(round.failure);
}

/// Runs `action`; what it throws is the report's failure, but for the end of the work.
template <class Action>
void Try(OutReport& report, Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted) throw;
    if (!report.failure) report.failure = error;
  } catch (const fs::filesystem_error& error) {
    if (report.failure) return;
    report.failure = SystemError(error.code().value(), fmt::format("cannot look at '{}'", error.path1().string()));
  }
}

}  // namespace

OutPlaceMover::OutPlaceMover(OutPlace place, int keep, StageOutOptions options)
    : place_(std::move(place)),
      options_(std::move(options)),
      sides_(std::make_unique<CheckpointDirectories>(place_.checkpoints(), place_.folder / "checkpoints", options_)),
      mover_(*sides_, keep) {}

OutReport OutPlaceMover::Round() {
  OutReport report;
  auto seen = done_;
  Try(report, [&] { seen = sides_->Tier(); });
  if (report.failure) return report;
  if (seen == done_) return report;
  Try(report, [&] {
    if (!mover_.Settled()) MoveOutputs(report, Changing::kSkip);
  });
  Add(report, mover_.Round(Thoroughness::kWhileTraining));
  // After a round that did nothing there is nothing to do until the tier changes.
  if (!report.failure && report.moved.empty() && report.torn.empty()) done_ = seen;
  return report;
}

OutReport OutPlaceMover::Settle() {
  OutReport report;
  Try(report, [&] { MoveOutputs(report, Changing::kRefuse); });  // first: a checkpoint says that they are safe
  Try(report, [&] { SettleCheckpoints(report); });
  return report;
}

void OutPlaceMover::SettleCheckpoints(OutReport& report) {
  while (!report.failure && !mover_.Settled()) Add(report, mover_.Round(Thoroughness::kAtTheEnd));
}

void OutPlaceMover::MoveOutputs(OutReport& report, Changing changing) {
  const auto destination = place_.folder / "outputs";
  if (!fs::exists(place_.outputs()) || fs::is_empty(place_.outputs())) return;
  auto options = options_;
  options.existing = Existing::kMerge;
  options.changing = changing;
  const auto staged = StageOutDirectory(place_.outputs(), destination, options);
  report.outputs = {staged.files.size(), staged.bytes};
}

OutWork OutPlaceMover::Remaining() {
  OutWork work;
  const auto worth = WorthMoving(sides_->Tier(), sides_->Shared(1));
  if (!worth.empty()) {
    const auto name = fmt::format("step-{:012}", worth.front().step);
    work = WorkOf(place_.checkpoints() / name, place_.folder / "checkpoints" / name, Existing::kReplace);
  }
  if (fs::exists(place_.outputs())) {
    const auto outputs = WorkOf(place_.outputs(), place_.folder / "outputs", Existing::kMerge);
    work.files += outputs.files;
    work.bytes.count += outputs.bytes.count;
  }
  return work;
}

}  // namespace slipway::staging
