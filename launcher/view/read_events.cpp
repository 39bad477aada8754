#include "launcher/view/read_events.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "core/lines.h"

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

int AttemptOf(const Json& event) { return std::max(1, static_cast<int>(std::min(1e6, NumberMember(event, "attempt")))); }

std::string WordsOfMembers(const Json& event) {
  std::string words;
  for (const auto& [name, value] : event.items()) {
    const bool is_said = name == "time" || name == "unix_time" || name == "event" || name == "attempt";
    if (is_said || value.is_structured() || value.is_null()) continue;
    words += (words.empty() ? "" : ", ") + name + " " +
             (value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  return words;
}

/// What happened, in words: its reason or message, else its members.
std::string EventText(const Json& event) {
  auto text = TextMember(event, "reason");
  if (text.empty()) text = TextMember(event, "message");
  if (text.empty()) text = WordsOfMembers(event);
  if (text.size() > kLongestText) text.resize(kLongestText);
  return text;
}

/// Takes the events in their order and adds what they mean to the view.
class EventReader {
 public:
  explicit EventReader(RunView& view) : view_(view) {}

  void Take(const Json& event) {
    const auto name = TextMember(event, "event");
    const double time = NumberMember(event, "unix_time");
    if (ParsePhase(name)) EnterPhase(name, time, event);
    if (name == "restarting") EndAttempt(time, TextMember(event, "reason"));
    if (name == "staged") AddDataset(time, event);
    Keep({time, name, EventText(event)});
  }

 private:
  void EnterPhase(const std::string& name, double time, const Json& event) {
    if (!view_.phases.empty() && !view_.phases.back().to) view_.phases.back().to = time;
    const auto phase = *ParsePhase(name);
    if (HasEnded(phase)) return EndAttempt(time, TextMember(event, "reason"));
    view_.phases.push_back({name, time, {}, AttemptOf(event)});
    if (phase == Phase::kRunning) BeginAttempt(time, AttemptOf(event));
  }

  void BeginAttempt(double time, int number) {
    if (!view_.attempts.empty() && !view_.attempts.back().ended) view_.attempts.back().ended = time;
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
};

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
  EventReader reader(view);
  int odd = 0;
  ReadLines(folder.path() / "events.jsonl", [&](std::string_view line) {
    const auto event = Json::parse(line, nullptr, false);
    if (event.is_object()) {
      reader.Take(event);
    } else {
      ++odd;
    }
  });
  if (odd > 0) view.warnings.push_back(fmt::format("{} lines of events.jsonl could not be read", odd));
} catch (const Error& error) {
  view.warnings.push_back(error.message());
}

}  // namespace slipway::launcher
