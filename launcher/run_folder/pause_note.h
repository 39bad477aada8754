/// What a run that stands still waits for, in its folder: `status` and others show it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/json.h"
#include "ensemble/model/pause.h"
#include "launcher/run_folder/run_state.h"

namespace slipway::launcher {

struct RunPause {
  ensemble::PauseCause cause = ensemble::PauseCause::kDiskFull;
  std::string reason;  ///< what is full or held
  std::string since;   ///< UTC, ISO 8601
};

/// Written by the manager. Its file is made in advance and written in place, so it needs no space when the disk is
/// full. Without such a file there is no note: where the disk was full from the start, or on a file system that copies
/// on write.
class PauseNote {
 public:
  explicit PauseNote(const std::filesystem::path& run_folder);
  PauseNote(const PauseNote&) = delete;
  PauseNote& operator=(const PauseNote&) = delete;
  ~PauseNote();

  /// A note that is there keeps its time.
  void Set(const ensemble::Pause& pause) noexcept;
  void Clear() noexcept;

 private:
  void Write(const std::string& text) const;

  std::filesystem::path file_;
  bool is_set_ = false;
};

/// The file of the note, for those who watch it.
std::filesystem::path PauseNoteOf(const std::filesystem::path& run_folder);
/// Whether a run in this phase may stand still. Else the note means nothing: a killed manager has left it.
bool MayStandStill(Phase phase);
/// Nothing when the run does not stand still. Counts while MayStandStill().
std::optional<RunPause> ReadPause(const std::filesystem::path& run_folder);
/// "paused since 2026-11-26T07:41:02Z: No space left on device in '/scratch': free space there, and ...".
std::string Describe(const RunPause& pause);
Json ToJson(const RunPause& pause);

}  // namespace slipway::launcher
