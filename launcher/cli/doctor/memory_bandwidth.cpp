#include "launcher/cli/doctor/memory_bandwidth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "core/clock.h"
#include "core/memory_left.h"

namespace slipway::launcher {
namespace {

constexpr std::size_t kMeasuredBytes = 128u << 20;  // well beyond the caches
constexpr int kRounds = 5;                          // the first one touches the pages

/// Machines of the last ten years have several times as much.
constexpr double kSlow = 1e9;

double SecondsOfCopy(char* to, const char* from) {
  const auto began = SystemClock().Steady();
  std::memcpy(to, from, kMeasuredBytes);
  asm volatile("" : : "r"(to) : "memory");  // the copy is wanted
  return Seconds(SystemClock().Steady() - began).count();
}

}  // namespace

BandwidthFacts ProbeMemoryBandwidth() {
  if (MemoryLeft().count < 4 * kMeasuredBytes) return {};
  const auto from = std::make_unique<char[]>(kMeasuredBytes);
  const std::unique_ptr<char[]> to(new char[kMeasuredBytes]);
  double fastest = SecondsOfCopy(to.get(), from.get());
  for (int round = 1; round < kRounds; ++round) fastest = std::min(fastest, SecondsOfCopy(to.get(), from.get()));
  return {kMeasuredBytes / fastest};
}

Findings Judge(const BandwidthFacts& facts) {
  constexpr const char* kAbout = "memory bandwidth";
  if (!facts.bytes_per_s) {
    return {Warn(kAbout, "not measured: too little memory is left", "end what takes it, or ask for more")};
  }
  const auto text = fmt::format("one core copies {:.3g} GB/s", *facts.bytes_per_s / 1e9);
  if (*facts.bytes_per_s >= kSlow) return {Ok(kAbout, text)};
  return {Warn(kAbout, text + ", which is slow", "look for what else runs here: top")};
}

}  // namespace slipway::launcher
