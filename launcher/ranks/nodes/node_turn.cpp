#include "launcher/ranks/nodes/node_turn.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/fnv1a.h"
#include "core/ownership.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

namespace {

constexpr auto kTurnPause = std::chrono::milliseconds(20);

/// An earlier holder removes the file before it lets go: a lock on one that has gone is none.
std::optional<FileLock> TryHold(const fs::path& file) {
  auto lock = FileLock::TryAcquire(file, LockMode::kExclusive);
  struct stat held {};
  struct stat named {};
  const bool is_it = lock && ::fstat(lock->fd(), &held) == 0 && ::stat(file.c_str(), &named) == 0 &&
                     held.st_ino == named.st_ino && held.st_dev == named.st_dev;
  return is_it ? std::move(lock) : std::nullopt;
}

}  // namespace

std::vector<fs::path> FoldersForAll() { return {"/tmp", "/dev/shm", "/var/tmp"}; }

fs::path PrivateFolderOfNode(const std::vector<fs::path>& parents) {
  std::vector<std::string> tried;
  for (const auto& parent : parents) {
    const auto folder = parent / fmt::format("slipway-{}", ::geteuid());
    ::mkdir(folder.c_str(), 0700);
    if (IsPrivateFolder(folder)) return folder;
    tried.push_back(folder.string());
  }
  throw Error(ErrorKind::kEnvironment,
              fmt::format("no private folder can be had on this node: {} cannot be made, or are another user's",
                          fmt::join(tried, ", ")),
              "remove one of them, or ask the site who has made them");
}

NodeTurn::NodeTurn(const fs::path& folder, const std::string& name, std::chrono::milliseconds patience)
    : file_(folder / fmt::format("turn-{:016x}", Fnv1a64(name))) {
  const auto deadline = SystemClock().Steady() + patience;
  while (!(lock_ = TryHold(file_))) {
    if (SystemClock().Steady() >= deadline) {
      throw Error(ErrorKind::kBusy, "programs of an earlier manager of this run still end on this node",
                  "wait until they have ended, then: slipway resume");
    }
    std::this_thread::sleep_for(kTurnPause);
  }
}

NodeTurn::~NodeTurn() { ::unlink(file_.c_str()); }

}  // namespace slipway::launcher
