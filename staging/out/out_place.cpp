#include "staging/out/out_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/checkpoint.h"
#include "core/files.h"
#include "core/process_identity.h"
#include "staging/out/tree.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

void Add(OutReport& report, MoverRound round) {
  if (round.moved) report.moved.push_back(*round.moved);
  report.torn.insert(report.torn.end(), round.torn.begin(), round.torn.end());
  if (round.failure && !report.failure) report.failure = std::move(round.failure);
}

void Add(OutWork& work, const OutWork& more) {
  work.files += more.files;
  work.bytes.count += more.bytes.count;
  work.refused.insert(work.refused.end(), more.refused.begin(), more.refused.end());
}

/// The names begin in the place afterwards, no longer in its `directory`.
void Add(std::vector<Refused>& refused, std::vector<Refused> more, const fs::path& directory) {
  for (auto& each : more) refused.push_back({directory / each.name, std::move(each.why)});
}

/// Runs `action`; what it throws is the report's failure, but for the end of the work. True when it threw nothing.
template <class Action>
bool Try(OutReport& report, Action&& action) {
  try {
    action();
    return true;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted) throw;
    if (!report.failure) report.failure = error;
  } catch (const fs::filesystem_error& error) {
    if (report.failure) return false;
    report.failure = SystemError(error.code().value(), fmt::format("cannot look at '{}'", error.path1().string()));
  }
  return false;
}

}  // namespace

void RequireDirectory(const fs::path& path) {
  std::error_code error;
  const auto type = fs::status(path, error).type();
  const bool is_another = type != fs::file_type::none && type != fs::file_type::not_found;
  if (!is_another || type == fs::file_type::directory) return;
  throw Error(
      ErrorKind::kEnvironment,
      fmt::format("'{}' is not a directory any longer: the program has replaced it", path.string()),
      fmt::format("move it away on {}, then use slipway resume, or slipway stage out to copy only", HostName()));
}

std::string Describe(const TornCheckpoint& torn) {
  const auto text = fmt::format("the checkpoint of step {} is torn: {}; ", torn.step, torn.reason);
  if (torn.kept_in.empty()) return text + "it is not copied out";
  return text + fmt::format("it is copied to '{}', and no run continues from it", torn.kept_in.string());
}

OutPlaceMover::OutPlaceMover(OutPlace place, int keep, StageOutOptions options)
    : place_(std::move(place)),
      options_(std::move(options)),
      sides_(std::make_unique<CheckpointDirectories>(place_.checkpoints(), place_.folder / "checkpoints", options_)),
      mover_(*sides_, keep) {}

OutReport OutPlaceMover::Round() {
  OutReport report;
  const bool look = checkpoints_pause_.IsOver() && HasNews(report);
  if (outputs_due_ && outputs_pause_.IsOver()) RoundOfOutputs(report);
  if (look) RoundOfCheckpoints(report);
  report.waiting = outputs_pause_.failing() || checkpoints_pause_.failing();
  return report;
}

/// False also when the look fails.
bool OutPlaceMover::HasNews(OutReport& report) {
  bool news = false;
  const bool looked = Try(report, [&] {
    RequireDirectory(place_.checkpoints());
    RemoveLeftovers();
    seen_ = sides_->Tier();
    news = seen_ != done_;
    if (news && !mover_.Settled()) outputs_due_ = true;
  });
  if (!looked) checkpoints_pause_.Note(false);
  return looked && news;
}

void OutPlaceMover::RoundOfOutputs(OutReport& report) {
  const bool moved = Try(report, [&] {
    const auto refused = MoveOutputs(report, MergeOptions(Changing::kSkip, Unchanged::kSizeAndTime));
    if (!refused.empty()) throw ErrorOf(refused);
  });
  outputs_pause_.Note(moved);
  outputs_due_ = !moved;
}

void OutPlaceMover::RoundOfCheckpoints(OutReport& report) {
  auto round = mover_.Round(Thoroughness::kWhileTraining);
  checkpoints_pause_.Note(!round.failure);
  // After a round that did nothing there is nothing to do until the tier changes.
  if (!round.failure && !round.moved && round.torn.empty()) done_ = seen_;
  Add(report, std::move(round));
}

OutReport OutPlaceMover::Settle() {
  OutReport report;
  std::vector<Refused> refused;
  Try(report, [&] { RemoveLeftovers(); });
  // First: a checkpoint says that they are safe. It does not wait for those that can never be copied.
  const auto options = MergeOptions(Changing::kRefuse, Unchanged::kContents);
  Try(report, [&] { Add(refused, MoveOutputs(report, options), place_.outputs().filename()); });
  Try(report, [&] { SettleCheckpoints(report); });
  Try(report, [&] { Add(refused, MoveFilesBesideCheckpoints(report), place_.checkpoints().filename()); });
  if (report.failure || refused.empty()) return report;
  report.failure = ErrorOf(refused);
  report.refused = std::move(refused);
  return report;
}

void OutPlaceMover::SettleCheckpoints(OutReport& report) {
  RequireDirectory(place_.checkpoints());
  while (!report.failure && !mover_.Settled()) Add(report, mover_.Round(Thoroughness::kAtTheEnd));
  if (!report.failure) KeepTorn(report);
}

void OutPlaceMover::KeepTorn(OutReport& report) {
  for (const auto& entry : TornToKeep(sides_->Tier(), sides_->Shared(1))) {
    auto kept = sides_->KeepTorn(entry);
    std::erase_if(report.torn, [&](const TornCheckpoint& torn) { return torn.step == kept.step; });
    report.torn.push_back(std::move(kept));
  }
}

/// What an ended process left; once, since no other process works in the place of a run.
void OutPlaceMover::RemoveLeftovers() {
  if (has_cleaned_) return;
  sides_->RemoveLeftovers();
  has_cleaned_ = true;
}

StageOutOptions OutPlaceMover::MergeOptions(Changing changing, Unchanged unchanged) const {
  auto options = options_;
  options.existing = Existing::kMerge;
  options.changing = changing;
  options.unchanged = unchanged;
  options.unsuitable = Unsuitable::kLeaveOut;
  return options;
}

std::vector<Refused> OutPlaceMover::MoveOutputs(OutReport& report, const StageOutOptions& options) {
  RequireDirectory(place_.outputs());
  if (!fs::exists(place_.outputs()) || fs::is_empty(place_.outputs())) return {};
  auto staged = StageOutDirectory(place_.outputs(), place_.folder / "outputs", options);
  report.outputs = {staged.files.size(), staged.bytes};
  return std::move(staged.refused);
}

StageOutOptions OutPlaceMover::OptionsBesideCheckpoints() const {
  auto options = MergeOptions(Changing::kRefuse, Unchanged::kContents);
  std::set<fs::path> checkpoints;
  for (const auto& published : AllPublishedCheckpoints(place_.checkpoints())) {
    if (published.directory.filename() == CheckpointName(published.step)) {
      checkpoints.insert(published.directory.filename());
    }
  }
  options.skips = [checkpoints](const fs::path& name) {
    return checkpoints.contains(name) || name.string().starts_with(".tmp-");
  };
  return options;
}

bool OutPlaceMover::HasFilesBesideCheckpoints(const StageOutOptions& options) const {
  if (!fs::exists(place_.checkpoints())) return false;
  return std::ranges::any_of(fs::directory_iterator(place_.checkpoints()),
                             [&](const auto& entry) { return !options.skips(entry.path().filename()); });
}

std::vector<Refused> OutPlaceMover::MoveFilesBesideCheckpoints(OutReport& report) const {
  const auto options = OptionsBesideCheckpoints();
  if (!HasFilesBesideCheckpoints(options)) return {};
  auto staged = StageOutDirectory(place_.checkpoints(), place_.folder / "checkpoints", options);
  report.outputs.files += staged.files.size();
  report.outputs.bytes.count += staged.bytes.count;
  return std::move(staged.refused);
}

OutWork OutPlaceMover::Remaining() {
  OutWork work;
  for (const auto& directory : {place_.outputs(), place_.checkpoints()}) RequireDirectory(directory);
  if (fs::exists(place_.outputs())) {
    work = WorkOf(place_.outputs(), place_.folder / "outputs", MergeOptions(Changing::kRefuse, Unchanged::kContents));
  }
  const auto tier = sides_->Tier();
  const auto shared = sides_->Shared(1);
  bool has_newest = false;
  for (const auto& entry : WorthMoving(tier, shared)) {
    if (sides_->HasKept(entry)) continue;  // an earlier end has found it torn
    if (!has_newest || entry.best) has_newest = AddCheckpoint(entry, work) || has_newest;
  }
  for (const auto& entry : TornToKeep(tier, shared)) {
    if (!sides_->HasKept(entry)) AddCheckpoint(entry, work);
  }
  const auto options = OptionsBesideCheckpoints();
  if (HasFilesBesideCheckpoints(options)) {
    Add(work, WorkOf(place_.checkpoints(), place_.folder / "checkpoints", options));
  }
  return work;
}

bool OutPlaceMover::AddCheckpoint(const CheckpointEntry& entry, OutWork& work) const {
  const auto name = CheckpointName(entry.step);
  auto options = options_;
  options.existing = Existing::kReplace;
  options.unsuitable = Unsuitable::kLeaveOut;
  const auto more = WorkOf(place_.checkpoints() / name, place_.folder / "checkpoints" / name, options);
  if (more.refused.empty()) {
    Add(work, more);
    return true;
  }
  work.refused.insert(work.refused.end(), more.refused.begin(), more.refused.end());
  return false;
}

namespace {

/// Removes everything below `root / directory` but the entries `kept` and the directories on the way to them.
void RemoveOthers(const fs::path& root, const fs::path& directory, const std::vector<fs::path>& kept) {
  std::vector<fs::path> names;
  for (const auto& entry : fs::directory_iterator(root / directory)) {
    names.push_back(directory / entry.path().filename());
  }
  for (const auto& name : names) {
    if (std::ranges::find(kept, name) != kept.end()) continue;
    const bool leads_to_one = std::ranges::any_of(kept, [&](const fs::path& each) { return BeginsWith(each, name); });
    leads_to_one ? RemoveOthers(root, name, kept) : RemoveTree(root / name);
  }
}

}  // namespace

void RemoveCopied(const OutPlace& place, const std::vector<Refused>& refused) try {
  std::vector<fs::path> kept;
  for (const auto& each : refused) kept.push_back(each.name);
  for (const auto& directory : {place.outputs(), place.checkpoints()}) {
    if (fs::exists(directory)) RemoveOthers(place.tier, directory.filename(), kept);
  }
} catch (const fs::filesystem_error& error) {
  throw SystemError(error.code().value(), fmt::format("cannot remove '{}'", error.path1().string()));
}

}  // namespace slipway::staging
