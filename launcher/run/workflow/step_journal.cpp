#include "launcher/run/workflow/step_journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "core/clock.h"
#include "core/documents.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json_fields.h"
#include "core/write_probe.h"

namespace slipway::launcher {
namespace {

std::filesystem::path JournalOf(const std::filesystem::path& run_folder) { return run_folder / "workflow.jsonl"; }

}  // namespace

template <class Visitor, MaybeConst<StepRecord> Struct>
void Visit(Visitor& visit, Struct& record) {
  visit("state", record.state);
  visit("attempt", record.attempt);
  visit("result", record.result, Presence::kOptional);
  visit("reason", record.reason, Presence::kOptional);
  visit("seconds", record.seconds, Presence::kOptional);
  visit("process", record.process, Presence::kOptional);
}

namespace {

/// Without what says nothing: a workflow may have thousands of steps.
Json LineFor(const std::string& step, const StepRecord& record) {
  Json line{{"time", FormatUtc(SystemClock().Now())}, {"step", step}};
  line.update(WriteFields(record));
  if (record.result.empty()) line.erase("result");
  if (record.reason.empty()) line.erase("reason");
  if (record.seconds == 0) line.erase("seconds");
  if (record.process.pid == 0) line.erase("process");
  return line;
}

}  // namespace

StepJournal::StepJournal(const std::filesystem::path& run_folder)
    : file_(JournalOf(run_folder)), fd_(OpenFile(file_, O_WRONLY | O_APPEND | O_CREAT)) {
  kept_ = "\n";  // ends a line that an earlier manager did not finish
}

void StepJournal::Begin() {
  kept_ += Json{{"time", FormatUtc(SystemClock().Now())}, {"begin", true}}.dump() + "\n";
  Flush();
}

void StepJournal::Write(const std::string& step, const StepRecord& record) {
  kept_ += LineFor(step, record).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  Flush();
}

bool StepJournal::Flush() {
  while (!kept_.empty()) {
    const auto count = ::write(fd_.get(), kept_.data(), kept_.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && MeansDiskFull(errno)) return false;
    CheckErrno(count, "cannot write '" + file_.string() + "'");
    kept_.erase(0, static_cast<std::size_t>(count));
  }
  return true;
}

std::map<std::string, StepRecord> ReadStepJournal(const std::filesystem::path& run_folder) {
  static const DocumentName kLine{"a line of workflow.jsonl", ErrorKind::kEnvironment};
  std::map<std::string, StepRecord> records;
  std::istringstream lines(ReadDocumentIfPresent(JournalOf(run_folder)).value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const auto json = Json::parse(line, nullptr, false);
    if (json.is_object() && json.contains("begin")) {
      std::erase_if(records, [](const auto& entry) { return entry.second.state != StepState::kDone; });
    }
    if (!json.is_object() || !json.contains("step") || !json["step"].is_string()) continue;
    try {
      auto record = ReadFields<StepRecord>(json, kLine);
      record.time = json.value("time", "");
      records[json["step"].get<std::string>()] = std::move(record);
    } catch (const DocumentError&) {  // cut, or of a later version
      continue;
    }
  }
  return records;
}

std::map<std::string, std::string> LastResultsIn(const std::filesystem::path& run_folder) {
  std::map<std::string, std::string> results;
  std::istringstream lines(ReadDocumentIfPresent(JournalOf(run_folder)).value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (line.find("\"result\"") == std::string::npos) continue;  // most lines: nothing to parse
    const auto json = Json::parse(line, nullptr, false);
    if (!json.is_object() || !json.value("step", Json()).is_string() || !json.value("result", Json()).is_string())
      continue;
    results[json["step"].get<std::string>()] = json["result"].get<std::string>();
  }
  return results;
}

}  // namespace slipway::launcher
