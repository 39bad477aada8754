/// The folder of one run: its layout, its state, its record of events.
///
/// It can be copied away and still be read. Layout: docs/reference/run-folder.md.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.h"
#include "core/json.h"
#include "launcher/run_folder/run_state.h"

namespace slipway::launcher {

/// Of plan.json and of job.sh: nobody but the owner reads them.
inline constexpr mode_t kPlanMode = 0600;

/// Held by the run's manager; its text names the process.
inline constexpr const char* kManagerLock = ".manager.lock";

class RunFolder {
 public:
  /// Makes runs/<name>-<yyyymmdd-hhmmss>-<4 hex> with state `created`, which becomes durable with the next file that
  /// is. Errors: SystemError.
  static RunFolder Create(const std::filesystem::path& runs_directory, const std::string& name, bool ensemble);
  /// Begins `path` as the folder of a trial of `run` that is managed on its own. What is there already stays, but for
  /// the state. Errors: SystemError.
  static RunFolder BeginTrial(const std::filesystem::path& path, const RunFolder& run);
  /// Errors: Error(kUsage) when there is no run folder; SystemError when it cannot be read.
  static RunFolder Open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  std::string id() const { return path_.filename().string(); }

  std::filesystem::path spec_file() const { return path_ / "spec.yaml"; }
  /// It holds the values of variables that the spec only names, which may be keys: written with kPlanMode.
  std::filesystem::path plan_file() const { return path_ / "plan.json"; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }
  std::filesystem::path trials() const { return path_ / "trials"; }
  /// Links to what is read in place, and who holds which share of what is shared out.
  std::filesystem::path data() const { return path_ / "data"; }
  std::filesystem::path trial_book() const { return path_ / "trials.db"; }
  std::filesystem::path attempt(int number) const;

  /// As stored, but `lost` when it claims to be alive and its manager, on this host, is gone. A run that is ready for
  /// its trials has none yet.
  RunState ReadState() const;
  /// Atomic and durable. Cost: two syncs.
  void WriteState(const RunState& state) const;

  /// One line of events.jsonl: time, event, and the members of `more`.
  void AppendEvent(std::string_view event, const Json& more) const;
  /// How often events.jsonl has it. Cost: reads the file.
  int CountEvents(std::string_view event) const;

  /// Becomes the run's one manager, when the present one leaves within `patience`. Errors: Error(kBusy) naming it, also
  /// when this is a copy of a folder that its manager still works on.
  FileLock TakeManagerLock(std::chrono::milliseconds patience = {}) const;

 private:
  friend std::vector<RunFolder> ListRuns(const std::filesystem::path& runs_directory);
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

/// The folders of all runs, oldest first, also of those whose state cannot be read, or that somebody has renamed. None
/// where there is no such directory. Errors: SystemError when it cannot be read.
std::vector<RunFolder> ListRuns(const std::filesystem::path& runs_directory);

using WarningSink = std::function<void(const std::string&)>;

/// A run by full id, unique prefix, `last`, or path of its folder. `last` is the newest that can be read; `warn` hears
/// of newer ones. Errors: Error(kUsage) naming what is there; those of RunFolder::Open.
RunFolder FindRun(const std::filesystem::path& runs_directory, const std::string& selector,
                  const WarningSink& warn = {});

}  // namespace slipway::launcher
