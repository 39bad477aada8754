/// How much memory this process may still take. Ask here before taking a large amount. More memory than that wakes the
/// kernel's OOM killer, and it may end other people's processes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/units.h"

namespace slipway {

/// Files in which the kernel reports memory; tests name others.
struct MemorySources {
  std::filesystem::path meminfo = "/proc/meminfo";
  std::filesystem::path membership = "/proc/self/cgroup";
  std::filesystem::path cgroups = "/sys/fs/cgroup";
};

/// The memory left, less a tenth. It is the smallest of MemAvailable and what the memory control groups leave (v1 and
/// v2, every level up to the root). The tenth is kept because a full control group ends the training program, not the
/// process that filled it. No limit where the kernel says nothing.
/// Cost: some tens of microseconds.
Bytes MemoryLeft(const MemorySources& sources = {});

/// Not enough memory is left; nothing was taken. The kind is kEnvironment.
class MemoryError : public Error {
 public:
  using Error::Error;
};

/// Permission to take memory step by step. It looks again before each kStep bytes, because other processes may have
/// taken memory; while much is left, before each 64th part of that. It keeps a tenth of what was left at the beginning.
/// Any thread.
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

/// To be called before one piece of memory is allocated. Less than MemoryAllowance::kStep is never refused.
/// Errors: MemoryError naming `what`.
void RequireMemory(Bytes bytes, std::string_view what, const MemorySources& sources = {});

}  // namespace slipway
