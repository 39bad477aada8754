#include "launcher/ranks/monitor/watch_report.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/unique_handle.h"
#include "core/utf8_character.h"
#include "core/watch_report.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

constexpr off_t kMostReportBytes = 1 << 20;
constexpr std::size_t kMostRanks = 256;
constexpr std::size_t kLongestMessage = 2000;
constexpr std::size_t kLongestWord = 200;

// next step: added by FindWatchReport, which ignores the file
[[noreturn]] void Refuse(const std::string& reason) { throw Error(ErrorKind::kFailed, reason); }

/// A program may have put a link, a pipe or a folder there: none of them is followed, waited for or read.
std::string ReadRegularFile(const UniqueFd& fd) {
  struct stat info {};
  CheckErrno(::fstat(fd.get(), &info), "cannot be read");
  if (!S_ISREG(info.st_mode)) Refuse("it is not a file");
  if (info.st_size > kMostReportBytes) Refuse(fmt::format("it is larger than {} bytes", kMostReportBytes));
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  const auto count = CheckErrno(::pread(fd.get(), text.data(), text.size(), 0), "cannot be read");
  text.resize(static_cast<std::size_t>(count));
  return text;
}

/// True where one of U+0080 to U+009F begins, which some terminals obey.
bool IsLateControl(std::string_view text, std::size_t at) {
  return text[at] == '\xc2' && at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) < 0xa0;
}

/// One line for a terminal: no control characters, at most `most` bytes and no half character.
std::string OneLine(std::string text, std::size_t most) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7f) text[i] = ' ';
    if (IsLateControl(text, i)) text[i] = text[i + 1] = ' ';
  }
  if (text.size() <= most) return text;
  return std::string(WholeCharacters(text, most)) + "...";
}

std::string TextOf(const Json& object, const char* name, std::size_t most) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? OneLine(found->get<std::string>(), most) : std::string();
}

std::optional<std::int64_t> NumberOf(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

std::vector<WatchedRank> RanksOf(const Json& document) {
  std::vector<WatchedRank> ranks;
  const auto list = document.find("ranks");
  if (list == document.end() || !list->is_array()) return ranks;
  for (const auto& entry : *list) {
    if (!entry.is_object() || ranks.size() == kMostRanks) continue;
    ranks.push_back({NumberOf(entry, "rank").value_or(-1), TextOf(entry, "host", kLongestWord),
                     NumberOf(entry, "pid").value_or(0), TextOf(entry, "state", kLongestWord),
                     TextOf(entry, "last", kLongestWord), NumberOf(entry, "step")});
  }
  return ranks;
}

WatchReport Parse(const std::string& text) {
  const auto document = Json::parse(text, nullptr, false);
  if (!document.is_object()) Refuse("it is torn or no JSON object");
  if (TextOf(document, "schema", kLongestWord) != "slipway.watch/1") Refuse("its schema is not slipway.watch/1");
  WatchReport report{FromWord<WatchKind>(TextOf(document, "kind", kLongestWord)).value_or(WatchKind::kOther),
                     TextOf(document, "message", kLongestMessage), RanksOf(document)};
  if (report.message.find_first_not_of(' ') == std::string::npos) Refuse("it has no message");
  return report;
}

}  // namespace

WordTable<WatchKind> WordsOf(WatchKind) {
  static constexpr Word<WatchKind> kWords[] = {{WatchKind::kDead, "dead"},
                                               {WatchKind::kLeft, "left"},
                                               {WatchKind::kStalled, "stalled"},
                                               {WatchKind::kMismatch, "mismatch"},
                                               {WatchKind::kNotFinite, "not_finite"},
                                               {WatchKind::kStart, "start"},
                                               {WatchKind::kOther, "other"}};
  return kWords;
}

bool IsHang(WatchKind kind) { return kind != WatchKind::kMismatch && kind != WatchKind::kNotFinite; }

std::optional<WatchFinding> FindWatchReport(const fs::path& attempt) {
  const auto path = attempt / "watch.json";
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd && errno == ENOENT) return std::nullopt;
  try {
    if (!fd) Refuse(errno == ELOOP ? "it is a link" : std::strerror(errno));
    return WatchFinding{Parse(ReadRegularFile(fd)), {}};
  } catch (const Error& error) {
    return WatchFinding{{}, fmt::format("'{}' is ignored: {}", path.string(), error.message())};
  }
}

void PublishWatchReport(const fs::path& attempt, const Json& members) try {
  WriteWatchReport(attempt / "watch.json", "manager", members);
} catch (const Error& error) {
  log::Warn("watch.json cannot be written: {}", error.what());
}

Json ToJson(const WatchReport& report) {
  Json ranks = Json::array();
  for (const auto& rank : report.ranks) {
    ranks.push_back({{"rank", rank.rank},
                     {"host", rank.host},
                     {"pid", rank.pid},
                     {"state", rank.state},
                     {"last", rank.last},
                     {"step", rank.step ? Json(*rank.step) : Json()}});
  }
  return Json{{"kind", WordOf(report.kind)}, {"message", report.message}, {"ranks", ranks}};
}

}  // namespace slipway::launcher
