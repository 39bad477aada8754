#include "launcher/run_folder/pause_note.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json_fields.h"
#include "core/json_text.h"
#include "core/log.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNoteBytes = 4096;  // a block, so that readers see one write or the other
constexpr std::size_t kMostReasonBytes = 2048;

std::string Padded(std::string text) {
  text.resize(kNoteBytes - 1, ' ');
  return text + "\n";
}

}  // namespace

template <class Visitor, MaybeConst<RunPause> Struct>
void Visit(Visitor& visit, Struct& pause) {
  visit("cause", pause.cause);
  visit("reason", pause.reason);
  visit("since", pause.since);
}

fs::path PauseNoteOf(const fs::path& run_folder) { return run_folder / ".pause"; }

PauseNote::PauseNote(const fs::path& run_folder) : file_(PauseNoteOf(run_folder)) {
  try {
    WriteFile(file_, Padded(""));
  } catch (const SystemError&) {
    std::error_code ignored;
    fs::remove(file_, ignored);
  }
}

PauseNote::~PauseNote() {
  std::error_code ignored;
  fs::remove(file_, ignored);
}

void PauseNote::Set(const ensemble::Pause& pause) noexcept try {
  if (is_set_) return;
  is_set_ = true;
  const RunPause note{pause.cause, pause.why.substr(0, kMostReasonBytes), FormatUtc(SystemClock().Now())};
  Write(JsonText(ToJson(note)));
} catch (const std::exception& error) {
  log::Info("the run folder does not say that the run is paused: {}", error.what());
}

void PauseNote::Clear() noexcept try {
  if (!is_set_) return;
  is_set_ = false;
  Write("");
} catch (const std::exception& error) {
  log::Info("the run folder still says that the run is paused: {}", error.what());
}

/// In place: a new file would need space.
void PauseNote::Write(const std::string& text) const {
  const auto file = OpenFile(file_, O_WRONLY);
  const auto note = Padded(text);
  const auto written = ::pwrite(file.get(), note.data(), note.size(), 0);
  if (written != static_cast<ssize_t>(note.size())) ThrowErrno(fmt::format("cannot write '{}'", file_.string()));
}

bool MayStandStill(Phase phase) { return phase == Phase::kStaging || phase == Phase::kRunning; }

std::optional<RunPause> ReadPause(const fs::path& run_folder) try {
  const auto text = ReadFileIfPresent(PauseNoteOf(run_folder));
  if (!text) return {};
  const auto note = Json::parse(*text, nullptr, false);
  if (!note.is_object()) return {};
  return ReadFields<RunPause>(note, {"the note of a pause"});
} catch (const Error&) {  // no one may read it, or it is damaged
  return {};
}

std::string Describe(const RunPause& pause) {
  return fmt::format("paused since {}: {}; {}", pause.since, pause.reason, MeaningOf(pause.cause));
}

Json ToJson(const RunPause& pause) { return WriteFields(pause); }

}  // namespace slipway::launcher
