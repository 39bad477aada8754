#include "staging/reader/supply_wait.h"

#include <fmt/format.h>

#include <cstdio>

namespace slipway::staging {
namespace {

constexpr auto kSupplyMoment = std::chrono::milliseconds(20);
constexpr auto kLong = std::chrono::minutes(1);
constexpr auto kSupplyLook = std::chrono::milliseconds(500);

}  // namespace

SupplyPatience::SupplyPatience(const SupplyWait& wait, std::string what, Clock& clock)
    : wait_(wait), what_(std::move(what)), clock_(clock), since_(clock.Steady()), warned_(since_), looked_(since_) {}

void SupplyPatience::Sleep() {
  Tick();
  clock_.Sleep(kSupplyMoment);
}

void SupplyPatience::Tick() {
  if (wait_.tick) wait_.tick();
  if (clock_.Steady() - warned_ >= kLong) Warn();
}

void SupplyPatience::Restart() { since_ = warned_ = looked_ = clock_.Steady(); }

bool SupplyPatience::TimeToLook() {
  const auto now = clock_.Steady();
  if (now - looked_ < kSupplyLook) return false;
  looked_ = now;
  return true;
}

void SupplyPatience::Warn() {
  warned_ = clock_.Steady();
  const Seconds waited = warned_ - since_;
  const auto text =
      fmt::format("waiting for {} since {}: nothing has arrived meanwhile, the staging goes on very slowly", what_,
                  FormatDuration(waited));
  if (wait_.warn) return wait_.warn(text);
  std::fputs(fmt::format("slipway: {}\n", text).c_str(), stderr);
}

}  // namespace slipway::staging
