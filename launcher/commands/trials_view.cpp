#include "launcher/commands/trials_view.h"

#include <fmt/format.h>

#include "core/clock.h"
#include "core/error.h"

namespace slipway::launcher {

TrialsView OpenTrials(const std::filesystem::path& run_folder) {
  auto book = ensemble::TrialBook::OpenForReading(run_folder);
  auto study = book.Study();
  if (!study) {
    throw Error(ErrorKind::kTryAgain, fmt::format("the ensemble in '{}' has not begun", run_folder.string()),
                "look again in a moment, or resume the run");
  }
  auto trials = Rank(book.Trials(), study->objectives.front().ValueGoal());
  return {std::move(book), std::move(*study), std::move(trials), UnixSeconds(SystemClock().Now())};
}

}  // namespace slipway::launcher
