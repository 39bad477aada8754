#include "staging/foreign/hdf5_limits.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "core/environment.h"
#include "core/error.h"
#include "core/lines.h"

namespace slipway::staging {
namespace {

std::uint64_t SecondsFrom(std::string_view text) {
  std::uint64_t seconds = 0;
  if (ParseNumber(text, seconds) && seconds > 0) return seconds;
  throw Error(ErrorKind::kUsage, fmt::format("SLIPWAY_HDF5_SECONDS='{}' is not a number of seconds", text),
              "set it to a whole number like 60, or unset it");
}

Bytes MemoryFrom(std::string_view text) {
  if (const auto bytes = ParseBytes(text); bytes && bytes->count > 0) return *bytes;
  throw Error(ErrorKind::kUsage, fmt::format("SLIPWAY_HDF5_MEMORY='{}' is not a size", text),
              "set it to a size like 8GB, or unset it");
}

Bytes HalfOfTheMemory() {
  constexpr std::uint64_t kGib = std::uint64_t{1} << 30;
  const auto bytes =
      static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return {std::clamp(bytes / 2, kGib, 16 * kGib)};
}

void Limit(__rlimit_resource which, rlim_t most) {
  rlimit limit{};
  ::getrlimit(which, &limit);
  limit.rlim_cur = std::min(most, limit.rlim_max);
  CheckErrno(::setrlimit(which, &limit), "cannot limit the helper");
}

}  // namespace

Hdf5Limits Hdf5Limits::FromEnvironment() {
  Hdf5Limits limits;
  if (const auto text = Variable("SLIPWAY_HDF5_SECONDS"); !text.empty()) limits.seconds = SecondsFrom(text);
  const auto text = Variable("SLIPWAY_HDF5_MEMORY");
  limits.memory = text.empty() ? HalfOfTheMemory() : MemoryFrom(text);
  return limits;
}

void LimitMemory(Bytes memory) {
  Limit(RLIMIT_CORE, 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  Limit(RLIMIT_AS, memory.count);
#else
  static_cast<void>(memory);
#endif
}

void LimitProcessorTime(std::uint64_t seconds) {
  rusage used{};
  CheckErrno(::getrusage(RUSAGE_SELF, &used), "cannot tell the processor time");
  const auto spent = static_cast<std::uint64_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 1;
  Limit(RLIMIT_CPU, spent + seconds);
}

}  // namespace slipway::staging
