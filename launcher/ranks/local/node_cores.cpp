#include "launcher/ranks/local/node_cores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>

#include "core/environment.h"
#include "core/files.h"
#include "core/lines.h"
#include "launcher/ranks/local/bound_to_cores.h"

namespace slipway::launcher {
namespace fs = std::filesystem;
namespace {

/// Socket, die, core.
using Core = std::tuple<int, int, int>;

/// One that the kernel says nothing of stands for itself.
Core CoreOf(int thread, const fs::path& folder) {
  const auto topology = folder / fmt::format("cpu{}", thread) / "topology";
  const auto number = [&](const char* name, int otherwise) {
    const auto text = ReadFileIfPresent(topology / name);
    return text ? std::atoi(text->c_str()) : otherwise;
  };
  return {number("physical_package_id", 0), number("die_id", 0), number("core_id", thread)};
}

std::size_t GivenBySlurm() { return ParseNumber<std::size_t>(Variable("SLURM_CPUS_ON_NODE")).value_or(0); }

}  // namespace

NodeCores CoresOfJob(std::vector<int> usable, std::size_t given, std::size_t threads) {
  NodeCores result{std::move(usable)};
  result.own = given == 0 || result.cores.size() <= given * threads;
  if (!result.own) result.cores.resize(given);
  return result;
}

NodeCores CoresOfThisNode() {
  auto [cores, threads] = LookAtNeighbours(UsableCores());
  return CoresOfJob(std::move(cores), GivenBySlurm(), threads);
}

Neighbours LookAtNeighbours(const std::vector<int>& cores, const fs::path& folder) {
  std::map<Core, std::vector<int>> threads_of;
  for (const int core : cores) threads_of[CoreOf(core, folder)].push_back(core);
  Neighbours result;
  for (const auto& [core, threads] : threads_of) {
    result.cores.insert(result.cores.end(), threads.begin(), threads.end());
    result.threads = std::max(result.threads, threads.size());
  }
  return result;
}

}  // namespace slipway::launcher
