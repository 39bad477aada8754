/// How much memory this process may still take. What goes beyond it wakes the kernel's OOM killer, which may end other
/// people's processes: whoever takes a large amount asks here first.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/units.h"

namespace slipway {

/// Where the kernel says it; tests name other places.
struct MemorySources {
  std::filesystem::path meminfo = "/proc/meminfo";
  std::filesystem::path membership = "/proc/self/cgroup";
  std::filesystem::path cgroups = "/sys/fs/cgroup";
};

/// The smallest of MemAvailable and what the memory control groups (v1 and v2, every level up to the root) leave, less
/// a tenth: a full control group ends the training program, not who filled it. No limit where the kernel says nothing.
/// Cost: some tens of microseconds.
Bytes MemoryLeft(const MemorySources& sources = {});

/// There is not so much memory; nothing was taken. The kind is kEnvironment.
class MemoryError : public Error {
 public:
  using Error::Error;
};

/// Leave to take memory step by step. Between two steps others may take theirs: it looks again before each kStep bytes
/// and keeps a tenth of what was there at the beginning. Any thread.
class MemoryAllowance {
 public:
  static constexpr std::uint64_t kStep = std::uint64_t{32} << 20;

  explicit MemoryAllowance(MemorySources sources = {}) : sources_(std::move(sources)) {}

  /// Whether `bytes` may be taken in all. Errors: MemoryError naming `what`.
  void Foresee(Bytes bytes, std::string_view what);
  /// Before `bytes` more are taken: written to, not only mapped. Errors: MemoryError naming `what`.
  void Take(Bytes bytes, std::string_view what);

 private:
  /// Less what is to remain.
  std::uint64_t Spare();

  MemorySources sources_;
  std::mutex mutex_;
  bool looked_ = false;
  std::uint64_t remains_ = 0;
  std::uint64_t granted_ = 0;  ///< looked for, not taken yet
};

/// Before memory of one piece is asked for; less than MemoryAllowance::kStep is never refused.
/// Errors: MemoryError naming `what`.
void RequireMemory(Bytes bytes, std::string_view what, const MemorySources& sources = {});

}  // namespace slipway
