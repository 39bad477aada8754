#include "staging/generation/private_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>

#include "core/files.h"
#include "core/share_out.h"
#include "staging/dataset/manifest.h"
#include "staging/dataset/record_index.h"
#include "staging/plan/tier_places.h"
#include "staging/plan/tiers.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

fs::path Made(fs::path directory) {
  MakeDirectories(directory);
  return directory;
}

/// Never what a link leads to.
void SyncCopy(const fs::path& path) { SyncFile(OpenFile(path, O_RDONLY | O_NOFOLLOW).get(), path); }

/// Several at once: each waits for its server.
void SyncEach(const StagingPlan& plan, const fs::path& directory) {
  constexpr std::size_t kAtOnce = 16;
  std::atomic<bool> stopped{false};
  ShareOut(plan.files.size(), kAtOnce, stopped,
           [&]() -> Worker { return [&](std::size_t i) { SyncCopy(directory / plan.files[i].name); }; });
}

/// Whole blocks of an earlier run, in bytes.
Bytes SizeOf(const Leftover& leftover, const StagingPlan& plan) {
  Bytes sum;
  for (std::size_t i = 0; i < leftover.kept.size(); ++i) {
    const auto size = plan.files[i].size.count;
    const auto& blocks = leftover.kept[i].crc32c;
    for (std::size_t block = 0; block < blocks.size(); ++block) {
      if (blocks[block]) sum.count += std::min<std::uint64_t>(kCrcBlock, size - block * kCrcBlock);
    }
  }
  return sum;
}

}  // namespace

bool IsWorthResuming(const Error& failure) {
  if (failure.kind() == ErrorKind::kInterrupted) return true;
  constexpr std::array kOfTheNetwork = {EIO,       ESTALE,      ETIMEDOUT,    EHOSTDOWN,    EHOSTUNREACH,
                                        ENETDOWN,  ENETUNREACH, ECONNRESET,   ECONNABORTED, ENOTCONN,
                                        ESHUTDOWN, EREMOTEIO,   ECONNREFUSED, ENOLINK};
  const auto* system = dynamic_cast<const SystemError*>(&failure);
  return system != nullptr &&
         std::find(kOfTheNetwork.begin(), kOfTheNetwork.end(), system->code()) != kOfTheNetwork.end();
}

PrivateDirectory::PrivateDirectory(const Generation& generation, const StagingPlan& plan)
    : generation_(generation), plan_(plan), path_(Made(generation.Private())), owner_(path_) {
  // First of all: without a manifest nothing that another machine renames from here counts as published.
  ::unlink((path_ / kManifestName).c_str());
  leftover_ = ReadLeftover(path_, plan);
  Clear();
  fd_ = OpenFile(path_, O_RDONLY | O_DIRECTORY);
}

PrivateDirectory::~PrivateDirectory() {
  if (stays_ || owner_.lost()) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

/// Removes what a killed run was about to write last, because it is all made again; everything that it left, if none of
/// that is of use.
void PrivateDirectory::Clear() const {
  const bool all = leftover_.kept.empty();
  for (const auto& entry : fs::directory_iterator(path_)) {
    const auto name = entry.path().filename().string();
    const bool temporary = name.starts_with('.') && name.find(".tmp-") != name.npos;
    const bool unfinished = temporary || name == kRecordIndexName;
    if (name != kOwnerName && (all || unfinished)) RemoveTree(entry.path());
  }
}

void PrivateDirectory::Sync() {
  sync_failed_ = true;
  SyncAll();
  sync_failed_ = false;
}

/// The directory was opened before the first byte: the kernel tells only errors of writing since then (Linux 5.8), and
/// not all network file systems tell them there.
void PrivateDirectory::SyncAll() const {
  if (LivesInMemory(path_)) return;
  if (LivesOnNetwork(path_)) SyncEach(plan_, path_);
  if (::syncfs(fd_.get()) != 0) ThrowErrno(fmt::format("cannot sync '{}'", path_.string()));
}

/// Between the look and the rename another machine may take over, if this one stood still for long: so it looks again.
void PrivateDirectory::Publish() {
  owner_.CheckIn(path_);
  generation_.Publish();
  stays_ = true;
  try {
    owner_.CheckIn(generation_.Published());
  } catch (const Error&) {
    generation_.Withdraw();
    throw;
  }
  owner_.GiveUp(generation_.Published());
}

Bytes PrivateDirectory::Keep() {
  const auto kept = sync_failed_ ? Bytes{} : SizeOf(ReadLeftover(path_, plan_), plan_);
  stays_ = kept.count > 0;
  return kept;
}

}  // namespace slipway::staging
