#include "ensemble/manager/room_watch.h"

#include <fmt/format.h>

namespace slipway::ensemble {
namespace {

constexpr auto kLooksForRoomApart = std::chrono::milliseconds(500);

}  // namespace

void RoomWatch::BeginRound() {
  looked_.reset();
  if (IsMissing() && clock_.Steady() - *last_missing_ >= kLooksForRoomApart) Look(RoomCheck::kTry);
}

bool RoomWatch::WasMissingDuring(const LiveAttempt& attempt, RoomCheck check) {
  Look(check);
  if (!last_missing_) return false;
  const auto now = clock_.Steady();
  return IsMissing() || std::chrono::duration<double>(now - *last_missing_).count() <= attempt.SecondsUp(now);
}

void RoomWatch::Look(RoomCheck check) {
  const bool known = looked_ && (*looked_ == RoomCheck::kTry || check == RoomCheck::kGlance);
  if (known) return;
  looked_ = check;
  const bool was_missing = IsMissing();
  why_ = runner_.WhyNoRoom(was_missing ? RoomCheck::kTry : check);
  if (IsMissing()) last_missing_ = clock_.Steady();
  if (IsMissing() == was_missing) return;
  if (was_missing) return observer_.GoesOn();
  observer_.Paused(fmt::format("{}: no trial begins until there is room", why_));
}

}  // namespace slipway::ensemble
