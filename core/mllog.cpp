#include "core/mllog.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/json_text.h"
#include "core/text.h"

namespace slipway {
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kToken = ":::MLLOG ";
constexpr std::array<std::string_view, 3> kEvents = {"POINT_IN_TIME", "INTERVAL_START", "INTERVAL_END"};

std::optional<MllogEvent> EventOf(const std::string& word) {
  for (std::size_t i = 0; i < kEvents.size(); ++i) {
    if (kEvents[i] == word) return static_cast<MllogEvent>(i);
  }
  return std::nullopt;
}

std::int64_t Milliseconds(WallTime time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

fs::path PastLog(const fs::path& folder, std::size_t number) { return folder / fmt::format("mllog-{}.txt", number); }

std::string FactOf(const std::string& key, const std::string& value) { return key + " " + value; }

}  // namespace

std::optional<MllogLine> ParseMllogLine(std::string_view text) {
  if (!text.starts_with(kToken)) return std::nullopt;
  const auto json = Json::parse(text.substr(kToken.size()), nullptr, false);
  if (!json.is_object() || !json.contains("value") || !json.value("metadata", Json()).is_object()) return std::nullopt;
  try {
    const auto event = EventOf(json.at("event_type").get<std::string>());
    if (!event) return std::nullopt;
    return MllogLine{*event, json.at("time_ms").get<std::int64_t>(), json.at("key").get<std::string>(),
                     JsonText(json["value"]), JsonText(json["metadata"])};
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

std::vector<MllogLine> ReadMllog(const fs::path& path) {
  std::vector<MllogLine> lines;
  for (const auto& line : LinesOf(ReadFileIfPresent(path).value_or(""))) {
    if (auto parsed = ParseMllogLine(line)) lines.push_back(std::move(*parsed));
  }
  return lines;
}

fs::path MllogIn(const fs::path& folder) { return folder / "mllog.txt"; }

std::vector<fs::path> PastMllogsIn(const fs::path& folder) {
  std::vector<fs::path> logs;
  while (fs::exists(PastLog(folder, logs.size() + 1))) logs.push_back(PastLog(folder, logs.size() + 1));
  return logs;
}

std::optional<fs::path> SetMllogAside(const fs::path& folder) {
  const auto present = MllogIn(folder);
  if (!fs::exists(present)) return std::nullopt;
  auto past = PastLog(folder, PastMllogsIn(folder).size() + 1);
  CheckErrno(::rename(present.c_str(), past.c_str()), fmt::format("cannot rename '{}'", present.string()));
  return past;
}

MllogFile::MllogFile(fs::path path) : path_(std::move(path)), fd_(OpenFile(path_, O_WRONLY | O_CREAT | O_APPEND)) {
  for (const auto& line : ReadMllog(path_)) {
    if (line.event == MllogEvent::kPoint && line.metadata == "{}") facts_.insert(FactOf(line.key, line.value));
  }
}

void MllogFile::Write(MllogEvent event, const std::string& key, const Json& value, const Json& metadata,
                      WallTime time) {
  const bool is_fact = event == MllogEvent::kPoint && metadata.empty();
  if (is_fact && !facts_.insert(FactOf(key, JsonText(value))).second) return;
  const Json line{{"namespace", ""},
                  {"time_ms", Milliseconds(time)},
                  {"event_type", kEvents[static_cast<std::size_t>(event)]},
                  {"key", key},
                  {"value", value},
                  {"metadata", metadata.empty() ? Json::object() : metadata}};
  WriteAll(fd_.get(), std::string(kToken) + JsonText(line) + "\n", path_);
}

void MllogFile::Write(MllogEvent event, const std::string& key, const Json& value, const Json& metadata) {
  Write(event, key, value, metadata, SystemClock().Now());
}

}  // namespace slipway
