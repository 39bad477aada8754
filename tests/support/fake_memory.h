/// Files as the kernel has them in /proc and /sys/fs/cgroup, saying what a test wants.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/files.h"
#include "core/memory_left.h"
#include "tests/support/temp_directory.h"

namespace slipway::test {

enum class GroupVersion { kFirst, kSecond };

class FakeMemory {
 public:
  explicit FakeMemory(std::uint64_t available_kib) { SetAvailable(available_kib); }

  void SetAvailable(std::uint64_t kib) {
    Put(sources_.meminfo, fmt::format("MemTotal: 99999999 kB\nMemAvailable:    {} kB\n", kib));
  }
  void SetMembership(const std::string& lines) { Put(sources_.membership, lines); }
  void SetGroup(const std::string& path, const std::string& limit, const std::string& usage,
                GroupVersion version = GroupVersion::kSecond) {
    const bool second = version == GroupVersion::kSecond;
    Put(sources_.cgroups / path / (second ? "memory.max" : "memory.limit_in_bytes"), limit + "\n");
    Put(sources_.cgroups / path / (second ? "memory.current" : "memory.usage_in_bytes"), usage + "\n");
  }
  void SetGroupStatistics(const std::string& path, const std::string& text) {
    Put(sources_.cgroups / path / "memory.stat", text);
  }
  const MemorySources& sources() const { return sources_; }

 private:
  static void Put(const std::filesystem::path& path, const std::string& text) {
    MakeDirectories(path.parent_path());
    WriteFileAtomically(path, text);
  }

  TempDirectory files_;
  MemorySources sources_{files_ / "meminfo", files_ / "cgroup", files_ / "groups"};
};

}  // namespace slipway::test
