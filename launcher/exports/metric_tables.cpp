#include "launcher/exports/metric_tables.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/json_text.h"
#include "core/number_words.h"
#include "ensemble/exchange/csv.h"

namespace slipway::launcher {
namespace {

constexpr std::string_view kCsvHeader = "run,trial,attempt,metric,step,epoch,value,time\n";
constexpr std::string_view kJsonBegin = "{\"run\":";
constexpr std::size_t kMostOfTable = std::size_t{1} << 20;

/// A file that is written in large pieces.
class TableFile {
 public:
  explicit TableFile(const std::filesystem::path& path) : file_(path) {}

  void Add(std::string_view text) {
    waiting_ += text;
    if (waiting_.size() > kMostOfTable) Flush();
  }
  void Commit() {
    Flush();
    file_.Commit();
  }

 private:
  void Flush() {
    file_.Write(waiting_);
    waiting_.clear();
  }

  DurableFile file_;
  std::string waiting_;
};

template <class Number>
std::string ElseEmpty(const std::optional<Number>& number) {
  return number ? fmt::format("{}", *number) : std::string();
}

std::string CsvLine(const std::string& run, const RunValue& value) {
  return fmt::format("{},{},{},{},{},{},{},{}\n", run, ElseEmpty(value.trial), value.attempt,
                     ensemble::CsvText(value.name), value.step, ElseEmpty(value.epoch), value.value,
                     value.time != 0 ? fmt::format("{:.3f}", value.time) : std::string());
}

template <class Number>
Json ElseNull(const std::optional<Number>& number) {
  return number ? Json(*number) : Json();
}

/// The member `run` comes first.
std::string JsonLine(const std::string& run, const RunValue& value) {
  const Json rest{{"attempt", value.attempt},
                  {"epoch", ElseNull(value.epoch)},
                  {"metric", value.name},
                  {"step", value.step},
                  {"time", value.time != 0 ? Json(value.time) : Json()},
                  {"trial", ElseNull(value.trial)},
                  {"value", JsonOf(value.value)}};
  return fmt::format("{}{},{}\n", kJsonBegin, Json(run).dump(), JsonText(rest).substr(1));
}

template <class LineOf>
std::uint64_t WriteTable(const RunFolder& folder, const ExportedRun& run, const std::filesystem::path& path,
                         std::string_view header, const LineOf& line_of) {
  TableFile file(path);
  file.Add(header);
  std::uint64_t count = 0;
  ForEachValue(folder, run, [&](const RunValue& value) {
    file.Add(line_of(folder.id(), value));
    ++count;
  });
  file.Commit();
  return count;
}

}  // namespace

std::uint64_t WriteCsv(const RunFolder& folder, const ExportedRun& run, const std::filesystem::path& file,
                       Foreign foreign) {
  RequireOwnFile(file, kCsvHeader, foreign);
  return WriteTable(folder, run, file, kCsvHeader, CsvLine);
}

std::uint64_t WriteJsonLines(const RunFolder& folder, const ExportedRun& run, const std::filesystem::path& file,
                             Foreign foreign) {
  RequireOwnFile(file, kJsonBegin, foreign);
  return WriteTable(folder, run, file, "", JsonLine);
}

}  // namespace slipway::launcher
