#include "launcher/run_folder/manager_elsewhere.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "launcher/run_folder/end_reason.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {
namespace {
namespace fs = std::filesystem;

/// The folders whose lock file this process has open; none where it has none or may not be looked at. Without those
/// that are not there for this process: in a container, paths may have other names. A manager of a workflow looks at
/// the locks of its experiments, too.
std::vector<fs::path> FoldersManagedBy(std::int64_t pid) {
  std::vector<fs::path> folders;
  std::error_code error;
  fs::directory_iterator descriptor(fmt::format("/proc/{}/fd", pid), error);
  for (const fs::directory_iterator end; !error && descriptor != end; descriptor.increment(error)) {
    std::error_code closed;
    const auto file = fs::read_symlink(descriptor->path(), closed);
    const bool is_lock = !closed && file.filename() == kManagerLock;
    if (is_lock && fs::exists(file, closed)) folders.push_back(file.parent_path());
  }
  return folders;
}

bool AreOne(const fs::path& folder, const fs::path& other) {
  std::error_code error;
  return fs::equivalent(folder, other, error);
}

cause::ManagerElsewhere OwnerOf(const RunState& state, const std::vector<fs::path>& folders) {
  return {state.manager.pid, folders.empty() ? std::string() : folders.front().string()};
}

Error IsCopy(const EndCause& owner, const std::string& id, const char* next_step) {
  return {ErrorKind::kBusy, ReasonFor(owner, id), next_step};
}

/// Before `staging`, and while queued, the manager is the submitting process, which holds no lock, or that of a
/// workflow, which holds the lock of its own folder.
bool NeedsLock(const RunState& state) { return state.phase == Phase::kStaging || state.phase == Phase::kRunning; }

/// Whether a manager of this run is active.
bool IsAtWork(const RunState& state) {
  return NeedsLock(state) && state.host == HostName() && state.manager.pid != ::getpid() && IsAlive(state.manager);
}

}  // namespace

void RequireNoManagerElsewhere(const RunState& state) {
  if (!IsAtWork(state)) return;
  throw IsCopy(OwnerOf(state, FoldersManagedBy(state.manager.pid)), state.run,
               "wait for that run, or end it with slipway cancel; then resume the copy");
}

std::optional<cause::ManagerElsewhere> FindManagerElsewhere(const RunState& state, const fs::path& folder) {
  if (!IsAtWork(state)) return {};
  const auto folders = FoldersManagedBy(state.manager.pid);
  const auto is_here = [&](const fs::path& other) { return AreOne(other, folder); };
  if (folders.empty() || std::ranges::any_of(folders, is_here)) return {};
  return OwnerOf(state, folders);
}

bool IsOnOtherHost(const RunState& state) { return !state.host.empty() && state.host != HostName(); }

bool IsManagerLockHeld(const fs::path& folder) { return !FileLock::TryLook(folder / kManagerLock); }

std::string DoubtManagerElsewhere(const RunState& state, const fs::path& folder, const std::string& selector) try {
  if (!IsOnOtherHost(state) || state.batch_job != 0 || !NeedsLock(state) || IsManagerLockHeld(folder)) return {};
  return fmt::format(
      "its manager (process {0} on {1}) may be gone, as its lock is free; see slipway status on {1}, or slipway resume "
      "{2} if {1} is gone",
      state.manager.pid, state.host, selector);
} catch (const SystemError&) {  // the lock cannot be looked at
  return {};
}

void RequireManagerHere(const RunState& state) {
  if (!Is<cause::ManagerElsewhere>(state.cause)) return;
  throw IsCopy(*state.cause, state.run, "give the command for that folder; this one has no manager");
}

}  // namespace slipway::launcher
