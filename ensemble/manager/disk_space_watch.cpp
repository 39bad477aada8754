#include "ensemble/manager/disk_space_watch.h"

#include <fmt/format.h>

namespace slipway::ensemble {
namespace {

constexpr auto kPauseBetweenLooks = std::chrono::milliseconds(500);

}  // namespace

void DiskSpaceWatch::BeginRound() {
  looked_.reset();
  if (IsMissing() && clock_.Steady() - *last_missing_ >= kPauseBetweenLooks) Look(DiskSpaceCheck::kTry);
}

bool DiskSpaceWatch::WasMissingDuring(const LiveAttempt& attempt, DiskSpaceCheck check) {
  Look(check);
  if (!last_missing_) return false;
  const auto now = clock_.Steady();
  return IsMissing() || std::chrono::duration<double>(now - *last_missing_).count() <= attempt.SecondsUp(now);
}

void DiskSpaceWatch::Look(DiskSpaceCheck check) {
  const bool known = looked_ && (*looked_ == DiskSpaceCheck::kTry || check == DiskSpaceCheck::kGlance);
  if (known) return;
  looked_ = check;
  const bool was_missing = IsMissing();
  why_ = runner_.WhyNoDiskSpace(was_missing ? DiskSpaceCheck::kTry : check);
  if (IsMissing()) last_missing_ = clock_.Steady();
  if (IsMissing() == was_missing) return;
  if (was_missing) return observer_.GoesOn();
  observer_.Paused({PauseCause::kDiskFull, fmt::format("{}: no trial starts until there is free space", why_)});
}

}  // namespace slipway::ensemble
