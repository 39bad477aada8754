#include "launcher/run/workflow/step_journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "core/clock.h"
#include "core/documents.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json_fields.h"
#include "core/text.h"
#include "core/write_probe.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

template <class Visitor, MaybeConst<StepRecord> Struct>
void Visit(Visitor& visit, Struct& record) {
  visit("state", record.state);
  visit("attempt", record.attempt);
  visit("result", record.result, Presence::kOptional);
  visit("reason", record.reason, Presence::kOptional);
  visit("seconds", record.seconds, Presence::kOptional);
  visit("process", record.process, Presence::kOptional);
  visit("job", record.job, Presence::kOptional);
  visit("task", record.task, Presence::kOptional);
  visit("host", record.host, Presence::kOptional);
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
  if (record.job == 0) line.erase("job");
  if (!record.task) line.erase("task");
  if (record.host.empty()) line.erase("host");
  return line;
}

}  // namespace

StepJournal::StepJournal(fs::path file) : file_(std::move(file)) {
  Open();
  kept_ = "\n";  // ends a line that an earlier manager did not finish
}

void StepJournal::Open() { fd_ = OpenFile(file_, O_WRONLY | O_APPEND | O_CREAT); }

void StepJournal::Begin() {
  kept_ += Json{{"time", FormatUtc(SystemClock().Now())}, {"begin", true}}.dump() + "\n";
  Flush();
}

void StepJournal::Write(const std::string& step, const StepRecord& record) {
  kept_ += LineFor(step, record).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  Flush();
}

bool StepJournal::Flush() {
  if (!kept_.empty() && !fd_) Open();
  while (!kept_.empty()) {
    const auto count = ::write(fd_.get(), kept_.data(), kept_.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && MeansDiskFull(errno)) return false;
    CheckErrno(count, "cannot write '" + file_.string() + "'");
    kept_.erase(0, static_cast<std::size_t>(count));
  }
  return true;
}

bool StepJournal::Close() {
  if (!Flush()) return false;
  fd_ = UniqueFd();
  return true;
}

namespace {

using Records = std::map<std::string, StepRecord>;

/// The lines in their order: `on_begin()` for another manager, `on_record(step, record)` for each state of a step.
template <class OnBegin, class OnRecord>
void VisitLines(const fs::path& journal, const OnBegin& on_begin, const OnRecord& on_record) {
  static const DocumentName kLine{"a line of a journal", ErrorKind::kEnvironment};
  for (const auto& line : LinesOf(ReadDocumentIfPresent(journal).value_or(""))) {
    const auto json = Json::parse(line, nullptr, false);
    if (json.is_object() && json.contains("begin")) on_begin();
    if (!json.is_object() || !json.contains("step") || !json["step"].is_string()) continue;
    try {
      auto record = ReadFields<StepRecord>(json, kLine);
      record.time = json.value("time", "");
      on_record(json["step"].get<std::string>(), std::move(record));
    } catch (const DocumentError&) {  // cut, or of a later version
      continue;
    }
  }
}

void ReadInto(const fs::path& journal, Records& records) {
  VisitLines(
      journal,
      [&] { std::erase_if(records, [](const auto& entry) { return entry.second.state != StepState::kDone; }); },
      [&](const std::string& step, StepRecord record) { records[step] = std::move(record); });
}

/// Those that may be there, that of the run first.
std::vector<fs::path> JournalsOf(const fs::path& run_folder) {
  std::vector<fs::path> journals = {JournalOfRun(run_folder)};
  if (!Exists(run_folder / kSubmittedSteps)) return journals;
  for (const auto& step : EntriesOf(run_folder / "steps")) journals.push_back(step / "journal.jsonl");
  return journals;
}

}  // namespace

StepRecord DoneBefore(const StepRecord& before, const std::string& result, double seconds) {
  const bool is_recorded = before.result == result && before.seconds > 0;
  return {.state = StepState::kDone,
          .attempt = before.attempt,
          .result = result,
          .seconds = is_recorded ? before.seconds : seconds};
}

std::map<std::string, std::string> ResultsMade(const Records& records) {
  std::map<std::string, std::string> made;
  for (const auto& [step, record] : records) {
    if (record.state == StepState::kDone) made.emplace(step, record.result);
  }
  return made;
}

fs::path JournalOfRun(const fs::path& run_folder) { return run_folder / "workflow.jsonl"; }

fs::path JournalOfStep(const fs::path& run_folder, const std::string& step) {
  return run_folder / "steps" / step / "journal.jsonl";
}

std::optional<FileLock> LockStep(const fs::path& run_folder, const std::string& step) {
  return FileLock::TryAcquire(run_folder / "steps" / step / ".lock", LockMode::kExclusive);
}

Records ReadStepJournal(const fs::path& run_folder) {
  Records records;
  for (const auto& journal : JournalsOf(run_folder)) ReadInto(journal, records);
  return records;
}

Records ReadRecordsOf(const fs::path& run_folder, const std::set<std::string>& steps) {
  Records records;
  ReadInto(JournalOfRun(run_folder), records);
  for (const auto& step : steps) ReadInto(JournalOfStep(run_folder, step), records);
  return records;
}

std::vector<StepTime> TimesOfSteps(const fs::path& run_folder) {
  std::vector<StepTime> times;
  std::set<std::tuple<std::string, std::string, double>> done;  // a manager that goes on writes them down again
  for (const auto& journal : JournalsOf(run_folder)) {
    VisitLines(
        journal, [] {},
        [&](const std::string& step, const StepRecord& record) {
          if (record.seconds <= 0) return;
          const bool has_result = HasResult(record.state);
          if (has_result && !done.emplace(step, record.result, record.seconds).second) return;
          times.push_back({step, record.seconds, !has_result});
        });
  }
  return times;
}

StepRecord ReadRecordOfStep(const fs::path& run_folder, const std::string& step) {
  Records records;
  ReadInto(JournalOfStep(run_folder, step), records);
  return records[step];
}

namespace {

void TakeResults(const fs::path& journal, std::map<std::string, std::string>& results) {
  for (const auto& line : LinesOf(ReadDocumentIfPresent(journal).value_or(""))) {
    if (line.find("\"result\"") == std::string::npos) continue;  // most lines: nothing to parse
    const auto json = Json::parse(line, nullptr, false);
    if (!json.is_object() || !json.value("step", Json()).is_string() || !json.value("result", Json()).is_string())
      continue;
    results[json["step"].get<std::string>()] = json["result"].get<std::string>();
  }
}

}  // namespace

std::map<std::string, std::string> LastResultsIn(const fs::path& run_folder) {
  std::map<std::string, std::string> results;
  for (const auto& journal : JournalsOf(run_folder)) TakeResults(journal, results);
  return results;
}

}  // namespace slipway::launcher
