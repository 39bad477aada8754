#include "launcher/trials/trials_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/clock.h"
#include "core/error.h"
#include "launcher/trials/lost_trials.h"

namespace slipway::launcher {

TrialsView OpenTrials(const std::filesystem::path& run_folder) {
  auto book = ensemble::TrialBook::OpenForReading(run_folder);
  auto study = book.Study();
  if (!study) {
    throw Error(ErrorKind::kTryAgain, fmt::format("the ensemble in '{}' has not begun", run_folder.string()),
                "look again in a moment, or resume the run");
  }
  auto records = book.Trials();
  MarkLost(run_folder, records);
  auto trials = Rank(std::move(records), study->objectives.front().ValueGoal(), study->repeats);
  const double now = UnixSeconds(ensemble::StudyClock(SystemClock(), book.LastReading()).Now());
  return {std::move(book), std::move(*study), std::move(trials), now};
}

std::vector<ensemble::TrialRecord> RecordsByNumber(const TrialsView& view) {
  std::vector<ensemble::TrialRecord> records;
  for (const auto& ranked : view.trials) records.push_back(ranked.trial);
  std::ranges::sort(records, {}, &ensemble::TrialRecord::number);
  return records;
}

std::filesystem::path TrialFolder(ensemble::TrialNumber trial) {
  return std::filesystem::path("trials") / fmt::format("{:05}", trial);
}

std::string NumberCell(const std::optional<double>& number) { return number ? fmt::format("{:.6g}", *number) : "-"; }

}  // namespace slipway::launcher
