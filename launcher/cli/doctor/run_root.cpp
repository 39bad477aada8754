#include "launcher/cli/doctor/run_root.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "core/unique_handle.h"
#include "ensemble/store/storage.h"
#include "staging/plan/tier_places.h"

namespace slipway::launcher {
namespace {

bool IsOctal(char c) { return c >= '0' && c <= '7'; }

/// Blanks and the like are written as three octal digits: "/a\040b".
std::string Unescaped(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape =
        text[i] == '\\' && i + 3 < text.size() && IsOctal(text[i + 1]) && IsOctal(text[i + 2]) && IsOctal(text[i + 3]);
    if (!escape) {
      plain += text[i];
      continue;
    }
    plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return plain;
}

struct MountPoint {
  std::string point, type;
};

/// "36 35 98:0 /root /mount/point options ... - type source options": any number of fields before the dash.
MountPoint MountOf(const std::string& line) {
  std::istringstream fields(line);
  const std::vector<std::string> words(std::istream_iterator<std::string>(fields), {});
  const auto dash = std::find(words.begin(), words.end(), "-");
  if (words.size() < 6 || words.end() - dash < 2) return {};
  return {Unescaped(words[4]), dash[1]};
}

}  // namespace

std::string FileSystemOf(const std::filesystem::path& path, std::string_view mounts) {
  MountPoint best;
  for (const auto& line : LinesOf(mounts)) {
    const auto mount = MountOf(line);
    if (mount.point.empty() || !BeginsWith(path, mount.point)) continue;
    if (mount.point.size() >= best.point.size()) best = mount;
  }
  return best.type;
}

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
        "free space, or name another place with --runs-dir or SLIPWAY_RUNS");
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
