#include "launcher/view/read_events.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "core/documents.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json_text.h"
#include "core/lines.h"
#include "launcher/view/file_stamp.h"

namespace slipway::launcher {
namespace {

constexpr std::size_t kMostEvents = 1'000;
constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;
constexpr std::size_t kLongestText = 500;

std::string TextMember(const Json& event, const char* name) {
  const auto found = event.find(name);
  return found != event.end() && found->is_string() ? found->get<std::string>() : std::string();
}

double NumberMember(const Json& event, const char* name) {
  const auto found = event.find(name);
  return found != event.end() && found->is_number() ? found->get<double>() : 0;
}

int AttemptOf(const Json& event) {
  return std::max(1, static_cast<int>(std::min(1e6, NumberMember(event, "attempt"))));
}

std::string WordsOfMembers(const Json& event) {
  std::string words;
  for (const auto& [name, value] : event.items()) {
    const bool is_said = name == "time" || name == "unix_time" || name == "event" || name == "attempt";
    if (is_said || value.is_structured() || value.is_null() || value == "") continue;
    words += (words.empty() ? "" : ", ") + name + " " + PlainText(value);
  }
  return words;
}

/// What happened, in words: its reason or message, else its members.
std::string EventWords(const Json& event) {
  auto text = TextMember(event, "reason");
  if (text.empty()) text = TextMember(event, "message");
  if (text.empty()) text = WordsOfMembers(event);
  if (text.size() > kLongestText) text.resize(kLongestText);
  return text;
}

constexpr auto kManagerLost = "its manager was lost";

/// Takes the events in their order and adds what they mean to the view.
class EventReader {
 public:
  /// `last_sign`: the last time before `before` at which an attempt is known to have worked.
  EventReader(RunView& view, std::function<double(int attempt, double before)> last_sign)
      : view_(view), last_sign_(std::move(last_sign)) {}

  void Take(const Json& event) {
    const auto name = TextMember(event, "event");
    const double time = NumberMember(event, "unix_time");
    if (const auto phase = ParsePhase(name)) EnterPhase(*phase, time, event);
    if (name == "restarting") EndAttempt(time, TextMember(event, "reason"));
    if (name == "staged") AddDataset(time, event);
    Keep({time, name, EventWords(event)});
    last_ = time;
  }

  /// The manager is gone without a last word.
  void TakeLoss() { LoseManager(std::numeric_limits<double>::infinity()); }

 private:
  void EnterPhase(Phase phase, double time, const Json& event) {
    const int attempt = AttemptOf(event);
    if (BeginsAnew(phase, attempt)) LoseManager(time);
    if (!view_.phases.empty() && !view_.phases.back().to) view_.phases.back().to = time;
    if (phase != Phase::kRunning) EndAttempt(time, TextMember(event, "reason"));
    if (HasEnded(phase)) return;
    view_.phases.push_back({std::string(PhaseName(phase)), time, {}, attempt});
    if (phase == Phase::kRunning) BeginAttempt(time, attempt);
  }

  /// A manager begins with staging or the next attempt. It ends the attempt before, and says so, if it is the same one.
  bool BeginsAnew(Phase phase, int attempt) const {
    const bool is_open = !view_.phases.empty() && !view_.phases.back().to;
    if (!is_open || HasEnded(phase) || phase == Phase::kQueued) return false;
    const auto was = ParsePhase(view_.phases.back().phase);
    if (phase == Phase::kStaging) return was == Phase::kStaging || was == Phase::kRunning;
    const bool has_open_attempt = !view_.attempts.empty() && !view_.attempts.back().ended;
    return phase == Phase::kRunning && was == Phase::kRunning && has_open_attempt &&
           (view_.ensemble || view_.attempts.back().number != attempt);
  }

  /// When it ended is not recorded.
  void LoseManager(double before) {
    if (view_.phases.empty() || view_.phases.back().to) return;
    const double time = std::min(before, std::max(last_, last_sign_(view_.phases.back().attempt, before)));
    view_.phases.back().to = time;
    EndAttempt(time, kManagerLost);
  }

  void BeginAttempt(double time, int number) {
    EndAttempt(time, "");
    view_.attempts.push_back({number, time, {}, {}, {}});
  }

  void EndAttempt(double time, const std::string& reason) {
    if (view_.attempts.empty() || view_.attempts.back().ended) return;
    view_.attempts.back().ended = time;
    view_.attempts.back().reason = reason;
  }

  void AddDataset(double time, const Json& event) {
    DatasetView dataset;
    dataset.name = TextMember(event, "dataset");
    dataset.tier = TextMember(event, "tier");
    dataset.directory = TextMember(event, "directory");
    dataset.seconds = NumberMember(event, "seconds");
    dataset.bytes = static_cast<std::uint64_t>(std::clamp(NumberMember(event, "bytes"), 0.0, 9e18));
    dataset.found = event.value("found", Json()) == true || event.value("adopted", Json()) == true;
    dataset.from = time - dataset.seconds;
    dataset.to = time;
    view_.datasets.push_back(std::move(dataset));
  }

  void Keep(EventView event) {
    if (view_.events.size() == kMostEvents) {
      view_.events.erase(view_.events.begin());
      ++view_.events_left_out;
    }
    view_.events.push_back(std::move(event));
  }

  RunView& view_;
  std::function<double(int, double)> last_sign_;
  double last_ = 0;  ///< time of the event before
};

double LastOfTrials(const RunView& view, double before) {
  double last = 0;
  for (const auto& trial : view.trial_spans) {
    for (const double time : {trial.started, trial.ended.value_or(0)})
      last = time < before ? std::max(last, time) : last;
  }
  return last;
}

/// Seconds since 1970; 0 without any file.
double LastWriteIn(const std::filesystem::path& folder) {
  double last = 0;
  for (const auto& file : EntriesOf(folder)) last = std::max(last, std::floor(ModifiedAt(StampOf(file))));
  return last;
}

void ReadLines(const std::filesystem::path& path, const std::function<void(std::string_view)>& take) {
  const auto file = OpenFile(path, O_RDONLY | O_NONBLOCK);
  const auto size = FileBytes(path);
  auto offset = size > kMostBytes ? size - kMostBytes : 0;
  LineBuffer lines;
  char buffer[1 << 16];
  for (ssize_t count = 0; (count = ::pread(file.get(), buffer, sizeof buffer, static_cast<off_t>(offset))) > 0;) {
    offset += static_cast<std::uint64_t>(count);
    lines.Add({buffer, static_cast<std::size_t>(count)});
    for (std::string_view line; lines.Next(line);) take(line);
    if (lines.overlong()) lines.Clear();
  }
}

}  // namespace

void AddEvents(const RunFolder& folder, RunView& view) try {
  EventReader reader(view, [&](int attempt, double before) {
    return view.ensemble ? LastOfTrials(view, before) : LastWriteIn(folder.attempt(attempt));
  });
  int odd = 0;
  ReadLines(folder.path() / "events.jsonl", [&](std::string_view line) {
    const auto event = Json::parse(line, nullptr, false);
    if (event.is_object()) {
      reader.Take(event);
    } else {
      ++odd;
    }
  });
  if (view.phase == Phase::kLost) reader.TakeLoss();
  if (odd > 0) view.warnings.push_back(fmt::format("{} lines of events.jsonl could not be read", odd));
} catch (const Error& error) {
  view.warnings.push_back(error.message());
}

}  // namespace slipway::launcher
