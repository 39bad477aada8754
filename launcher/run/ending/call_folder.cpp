#include "launcher/run/ending/call_folder.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/log.h"
#include "ensemble/store/trial_book.h"

namespace slipway::launcher {
namespace {

bool MayRunAgain(const RunFolder& folder) {
  auto book = ensemble::TrialBook::OpenForReading(folder.path());
  const auto study = book.Study();
  const auto trials = book.TrialStates();
  const auto is_complete = [](const auto& trial) { return trial.state == ensemble::TrialState::kComplete; };
  return !study || std::cmp_less(trials.size(), study->trials * study->repeats) ||
         !std::ranges::all_of(trials, is_complete);
}

}  // namespace

void RemoveCallFolder(const RunFolder& folder, const Plan& plan) try {
  const auto& place = plan.document.directory;
  const bool is_beside = place.parent_path() == folder.path().parent_path();
  if (!is_beside || !place.filename().native().starts_with(".call-")) return;
  if (plan.spec().ensemble && MayRunAgain(folder)) return;
  std::error_code error;
  std::filesystem::remove_all(place, error);
  if (error) log::Info("'{}' stays: {}", place.native(), error.message());
} catch (const std::exception& error) {  // it can be removed by hand
  log::Info("the folder of the call stays: {}", error.what());
}

}  // namespace slipway::launcher
