/// The machine that a run is started from or managed on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace slipway::launcher {

struct HostFacts {
  std::string host;
  std::string cpu;  ///< "AMD EPYC 7763 64-Core Processor"
  int cpus = 0;     ///< logical ones that are online
  std::uint64_t memory_bytes = 0;
  std::vector<std::string> gpus;  ///< their types; one for each device
};

/// Reads files of the kernel below `root`. What is missing there stays empty. Cost: some small files.
HostFacts HostFactsOf(const std::filesystem::path& root = "/");

}  // namespace slipway::launcher
