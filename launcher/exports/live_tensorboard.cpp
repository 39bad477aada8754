#include "launcher/exports/live_tensorboard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/metrics_line.h"
#include "core/shell.h"
#include "launcher/exports/run_metrics.h"
#include "launcher/exports/tensorboard_files.h"
#include "launcher/ranks/monitor/line_follower.h"

namespace slipway::launcher {
namespace fs = std::filesystem;
namespace {

constexpr auto kTensorboardPause = std::chrono::seconds(2);
constexpr auto kTensorboardFolder = "tensorboard";

double SecondsNow() { return UnixSeconds(SystemClock().Now()); }

RunSession BareSession(std::optional<ensemble::TrialNumber> trial, int attempt) {
  RunSession session;
  session.trial = trial;
  session.attempt = attempt;
  return session;
}

}  // namespace

/// The event file of one attempt.
struct LiveTensorboard::File {
  File(fs::path event_file, const fs::path& metrics)
      : path(std::move(event_file)), lines(metrics, [this](std::string_view text) { Take(text); }) {
    const auto found = staging::InspectEventFile(path);
    if (!found) return;
    is_new = found->records == 0;
    to_skip = found->scalars;
    // What a killed writer has left half-written.
    if (fs::file_size(path) > found->bytes) fs::resize_file(path, found->bytes);
  }

  void Take(std::string_view text) {
    const auto line = reader.Read(text);
    if (!line || line->values.empty()) return;
    if (to_skip > 0) {
      --to_skip;
      return;
    }
    std::vector<std::pair<std::string_view, double>> values(line->values.begin(), line->values.end());
    waiting += staging::ScalarsEvent(line->time.value_or(SecondsNow()), line->step, values);
  }

  /// A piece that cannot be written as a whole would damage the file: what there is of it goes again.
  void Flush() {
    if (waiting.empty()) return;
    MakeDirectories(path.parent_path());
    const auto file = OpenFile(path, O_WRONLY | O_CREAT | O_APPEND);
    const auto size = FileBytes(path);
    try {
      WriteAll(file.get(), waiting, path);
    } catch (const SystemError&) {
      std::error_code error;
      fs::resize_file(path, size, error);
      throw;
    }
    waiting.clear();
  }

  fs::path path;
  bool is_new = true;
  std::uint64_t to_skip = 0;  ///< lines whose events are there
  std::string waiting;
  MetricsReader reader;
  LineFollower lines;
};

LiveTensorboard::LiveTensorboard(fs::path run, EventLoop& loop, Output& output)
    : run_(std::move(run)), loop_(loop), output_(output) {}

LiveTensorboard::~LiveTensorboard() {
  if (timer_) loop_.Cancel(*timer_);
  Guard([this] {
    for (auto& [key, file] : files_) {
      file->lines.Finish();
      file->Flush();
    }
  });
}

template <class Action>
void LiveTensorboard::Guard(const Action& action) {
  if (has_failed_) return;
  try {
    action();
  } catch (const std::exception& error) {
    has_failed_ = true;
    output_.Warn(
        fmt::format("no more TensorBoard files are written: {}; write them later: slipway export {} "
                    "--tensorboard DIR",
                    error.what(), QuoteForShell({run_.string()})));
  }
}

void LiveTensorboard::CatchUp() {
  Guard([this] {
    if (!fs::is_directory(run_ / kTensorboardFolder)) return;
    for (const auto& entry : fs::recursive_directory_iterator(run_ / kTensorboardFolder)) {
      if (entry.is_regular_file()) CatchUpOne(entry.path());
    }
  });
}

/// The names of the file and of its folder tell whose it is.
void LiveTensorboard::CatchUpOne(const fs::path& events) {
  const int attempt = AttemptOfEventFile(events.filename().string());
  const auto session = events.parent_path().filename().string();
  constexpr std::string_view kTrial = "trial-";
  if (attempt == 0) return;
  const auto of = session.starts_with(kTrial) ? run_ / "trials" / session.substr(kTrial.size()) : run_;
  File file(events, of / fmt::format("attempt-{}", attempt) / "metrics.jsonl");
  file.lines.Finish();
  file.Flush();
}

void LiveTensorboard::Begin(std::optional<ensemble::TrialNumber> trial, int attempt, const fs::path& directory,
                            const Json& parameters, const std::string& group) {
  Guard([&] {
    const auto path = run_ / kTensorboardFolder / SessionFolder(BareSession(trial, attempt)) / EventFileOf(attempt);
    auto file = std::make_unique<File>(path, directory / "metrics.jsonl");
    if (file->is_new) {
      file->waiting = staging::EventFileHeader(SecondsNow());
      file->waiting += staging::SessionStartEvent(SecondsNow(), HyperParametersOf(parameters), group);
      file->Flush();
    }
    files_[{trial, attempt}] = std::move(file);
    if (!timer_) timer_ = loop_.After(kTensorboardPause, [this] { Poll(); });
  });
}

void LiveTensorboard::End(std::optional<ensemble::TrialNumber> trial, int attempt, const std::string& state) {
  const auto found = files_.find({trial, attempt});
  if (found == files_.end()) return;
  const auto file = std::move(found->second);
  files_.erase(found);
  Guard([&] {
    file->lines.Finish();
    if (const auto status = StatusOf(state); status != staging::SessionStatus::kUnknown) {
      file->waiting += staging::SessionEndEvent(SecondsNow(), status);
    }
    file->Flush();
  });
}

void LiveTensorboard::Poll() {
  timer_.reset();
  Guard([this] {
    for (auto& [key, file] : files_) {
      file->lines.Poll();
      file->Flush();
    }
  });
  if (!files_.empty() && !has_failed_) timer_ = loop_.After(kTensorboardPause, [this] { Poll(); });
}

}  // namespace slipway::launcher
