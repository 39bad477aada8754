#include "launcher/run_folder/manager_elsewhere.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "core/error.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {
namespace {
namespace fs = std::filesystem;

/// The folder whose lock this process holds; empty where it holds none or may not be looked at.
fs::path FolderManagedBy(std::int64_t pid) {
  std::error_code error;
  for (const auto& descriptor : fs::directory_iterator(fmt::format("/proc/{}/fd", pid), error)) {
    const auto file = fs::read_symlink(descriptor.path(), error);
    if (!error && file.filename() == kManagerLock) return file.parent_path();
  }
  return {};
}

/// Whether a manager of this run is active. Before `staging`, and while queued, the manager is the submitting process,
/// which holds no lock.
bool IsAtWork(const RunState& state) {
  const bool has_manager = state.phase == Phase::kStaging || state.phase == Phase::kRunning;
  return has_manager && state.host == HostName() && state.manager.pid != ::getpid() && IsAlive(state.manager);
}

}  // namespace

void RequireNoManagerElsewhere(const RunState& state, const std::string& id) {
  if (!IsAtWork(state)) return;
  const auto folder = FolderManagedBy(state.manager.pid);
  const auto place = folder.empty() ? std::string("another folder") : fmt::format("'{}'", folder.string());
  throw Error(ErrorKind::kBusy,
              fmt::format("this is a copy of run {}, which is still active: its manager (process {}) owns {}", id,
                          state.manager.pid, place),
              "wait for that run, or end it with slipway cancel; then resume the copy");
}

}  // namespace slipway::launcher
