#include "launcher/cli/doctor/run_root.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "core/unique_handle.h"
#include "ensemble/store/storage.h"
#include "launcher/cli/doctor/file_system.h"
#include "staging/plan/tier_places.h"

namespace slipway::launcher {
namespace fs = std::filesystem;
namespace {

constexpr char kRunRootAbout[] = "run folders";
constexpr Bytes kEnoughForRuns{1u << 30};
constexpr std::uint64_t kEnoughInodes = 10000;

/// Writes, too: a full disk lets files be made.
std::string WhyNotWritable(const fs::path& folder) try {
  auto name = (folder / ".slipway-doctor-XXXXXX").string();
  const UniqueFd file(
      CheckErrno(::mkostemp(name.data(), O_CLOEXEC), fmt::format("cannot write in '{}'", folder.string())));
  ::unlink(name.c_str());
  WriteAll(file.get(), std::string(4096, ' '), folder);
  return {};
} catch (const Error& error) {
  return error.message();
}

std::string Place(const RunRootFacts& facts) {
  return fmt::format("{}{}", facts.path.string(), facts.file_system.empty() ? "" : " on " + facts.file_system);
}

Finding JudgeWritable(const RunRootFacts& facts) {
  if (!facts.why_not_writable.empty()) {
    return Fail(kRunRootAbout, facts.why_not_writable, "name another place with --runs-dir or SLIPWAY_RUNS");
  }
  if (facts.available < kEnoughForRuns || (facts.counts_inodes && facts.free_inodes < kEnoughInodes)) {
    return Warn(
        kRunRootAbout,
        fmt::format("{}: {} and {} files are free", Place(facts), FormatBytes(facts.available), facts.free_inodes),
        "make room, or name another place with --runs-dir or SLIPWAY_RUNS");
  }
  return Ok(kRunRootAbout, fmt::format("{}, {} free", Place(facts), FormatBytes(facts.available)));
}

Finding JudgeBooks(const RunRootFacts& facts) {
  constexpr const char* kBooks = "trial books";
  if (facts.wal_is_safe) return Ok(kBooks, "with a write-ahead log");
  return Ok(kBooks, "without a write-ahead log, which is not safe on this file system: slower, as durable");
}

}  // namespace

RunRootFacts ProbeRunRoot(const fs::path& runs_directory, bool for_slurm) {
  RunRootFacts facts;
  facts.path = runs_directory;
  facts.for_slurm = for_slurm;
  const auto there = staging::NearestExisting(runs_directory);
  facts.why_not_writable = WhyNotWritable(there);
  facts.file_system = FileSystemOf(fs::canonical(there), ReadFileIfPresent("/proc/self/mountinfo").value_or(""));
  facts.wal_is_safe = ensemble::StorageOf(there) == ensemble::Storage::kLocal;
  facts.shared = staging::LivesOnNetwork(there);
  const auto space = SpaceOf(there);
  facts.available = space.available;
  facts.free_inodes = space.free_inodes;
  facts.counts_inodes = space.total_inodes > 0;
  return facts;
}

Findings Judge(const RunRootFacts& facts) {
  Findings findings{JudgeWritable(facts)};
  if (findings.front().grade == Grade::kFail) return findings;
  findings.push_back(JudgeBooks(facts));
  if (facts.for_slurm && !facts.shared) {
    findings.push_back(Warn("seen by nodes", fmt::format("{} looks like a disk of this machine alone", Place(facts)),
                            "Slurm's nodes must see run folders: put them on the shared file system with --runs-dir"));
  }
  return findings;
}

}  // namespace slipway::launcher
