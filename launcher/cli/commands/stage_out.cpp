#include "launcher/cli/commands/stage_out.h"

#include <fmt/format.h>
#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "core/error.h"
#include "core/interrupt.h"
#include "core/text.h"
#include "core/units.h"
#include "launcher/cli/commands/find_run.h"
#include "launcher/run/results/out_progress.h"
#include "launcher/run/results/settle_stage_out.h"
#include "launcher/run_folder/orphan.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

namespace {

/// Ctrl-C ends a copy in order: nothing half is left.
class Copying {
 public:
  Copying(const StageOutCommand& options, Output& output) : line_(output) {
    if (!options.bandwidth.empty()) {
      copy_.bytes_per_second = ParseBytes(options.bandwidth);
      if (!copy_.bytes_per_second || copy_.bytes_per_second->count == 0) {
        throw Error(ErrorKind::kUsage, fmt::format("--bandwidth '{}' is not a number of bytes", options.bandwidth),
                    "write it like 200MB");
      }
    }
    copy_.progress = [this](const staging::OutProgress& now) { line_.Update(now); };
    copy_.cancelled = [this] {
      loop_.RunOnce(std::chrono::nanoseconds(0));
      return interrupt_.asked();
    };
  }

  staging::StageOutOptions options() const { return copy_; }

 private:
  EventLoop loop_;
  Interrupt interrupt_{loop_};
  OutProgressLine line_;
  staging::StageOutOptions copy_;
};

std::string WorkText(const staging::OutWork& work) {
  return fmt::format("{}, {}", Counted(work.files, "file"), FormatBytes(work.bytes));
}

// ---- a run

/// What happened to one run, as a row of the document and a line of text.
struct SettledRun {
  Json document;
  std::string text;
  int exit_code = 0;
};

SettledRun NothingLeft(const RunFolder& run) {
  return {Json{{"run", run.id()}, {"state", "nothing"}}, fmt::format("{}: nothing is left in a tier", run.id())};
}

Json PlaceDocument(const SettledPlace& place) {
  Json checkpoints = Json::array();
  for (const auto& moved : place.report.moved) {
    checkpoints.push_back({{"step", moved.step}, {"bytes", moved.bytes.count}, {"seconds", moved.elapsed.count()}});
  }
  Json torn = Json::array();
  for (const auto& each : place.report.torn) {
    torn.push_back({{"step", each.step}, {"reason", each.reason}, {"directory", each.kept_in.string()}});
  }
  return Json{{"trial", place.trial ? Json(*place.trial) : Json()},
              {"checkpoints", checkpoints},
              {"torn", torn},
              {"outputs", {{"files", place.report.outputs.files}, {"bytes", place.report.outputs.bytes.count}}}};
}

std::string PlaceText(const SettledPlace& place) {
  const auto who = place.trial ? fmt::format("  trial {}: ", *place.trial) : std::string("  ");
  std::string text;
  for (const auto& moved : place.report.moved) {
    text += fmt::format("\n{}checkpoint of step {}, {}", who, moved.step, FormatBytes(moved.bytes));
  }
  for (const auto& torn : place.report.torn) text += fmt::format("\n{}{}", who, staging::Describe(torn));
  if (place.report.outputs.files > 0) text += fmt::format("\n{}results: {}", who, WorkText(place.report.outputs));
  return text;
}

SettledRun Planned(const RunFolder& run, const StageOutRecord& record) {
  staging::OutWork work;
  for (const auto& [place, trial] : OutPlacesIn(run, record)) {
    const auto more = staging::OutPlaceMover(place, 1, {}).Remaining();
    work.files += more.files;
    work.bytes.count += more.bytes.count;
    work.refused.insert(work.refused.end(), more.refused.begin(), more.refused.end());
  }
  SettledRun row{Json{{"run", run.id()},
                      {"state", "pending"},
                      {"tier", record.tier},
                      {"directory", record.directory.string()},
                      {"files", work.files},
                      {"bytes", work.bytes.count},
                      {"refused", Json::array()}},
                 fmt::format("{}: would copy {} from '{}'", run.id(), WorkText(work), record.directory.string())};
  if (work.refused.empty()) return row;
  const auto error = staging::ErrorOf(work.refused);
  for (const auto& each : work.refused) row.document["refused"].push_back(each.why.message());
  row.text += fmt::format("\n  would refuse: {}", error.what());
  row.exit_code = error.exit_code();
  return row;
}

Error Elsewhere(const RunFolder& run, const StageOutRecord& record) {
  return {ErrorKind::kEnvironment,
          fmt::format("what run {} left is in '{}' on {}", run.id(), record.directory.string(), record.host),
          fmt::format("give the same command on {}; if it is no longer there either, remove '{}'", record.host,
                      StageOutRecordFile(run).string())};
}

Error Gone(const RunFolder& run, const StageOutRecord& record) {
  return {ErrorKind::kFailed,
          fmt::format("'{}' is gone, with what run {} had not copied out of it", record.directory.string(), run.id()),
          fmt::format("continue from what its folder holds: slipway resume {}", run.selector())};
}

/// What Settle would do, with the exit code that it would have. Changes nothing, and does without the manager's lock.
SettledRun Look(const RunFolder& run) {
  auto record = ReadOutboxRecord(run);
  // A manager that has just removed the place has said so before: look once more before calling it gone.
  if (record && LostOutbox(run, *record)) record = ReadOutboxRecord(run);
  if (!record) return NothingLeft(run);
  if (IsElsewhere(run, *record)) throw Elsewhere(run, *record);
  if (LostOutbox(run, *record)) throw Gone(run, *record);
  return Planned(run, *record);
}

SettledRun Settle(const RunFolder& run, const StageOutCommand& options, Output& output) {
  if (!ReadOutboxRecord(run)) return NothingLeft(run);
  const auto lock = run.TakeManagerLock();
  EndOrphans(run, output);
  const auto record = ReadOutboxRecord(run);  // as the last manager left it
  if (!record) return NothingLeft(run);
  if (IsElsewhere(run, *record)) throw Elsewhere(run, *record);
  if (LostOutbox(run, *record)) {
    run.AppendEvent("stage_out_lost", Json{{"directory", record->directory.string()}});
    RemoveOutbox(run, *record);  // said once
    throw Gone(run, *record);
  }
  const Copying copying(options, output);
  const auto settled = SettleStageOut(run, *record, copying.options());
  if (settled.failure) {
    WarnOfTorn(settled, output);
    throw *settled.failure;
  }
  SettledRun row{Json{{"run", run.id()},
                      {"state", "done"},
                      {"tier", record->tier},
                      {"directory", record->directory.string()},
                      {"places", Json::array()}},
                 fmt::format("{}: all is in {}", run.id(), run.path().string())};
  for (const auto& place : settled.places) {
    row.document["places"].push_back(PlaceDocument(place));
    row.text += PlaceText(place);
  }
  return row;
}

SettledRun LookOrSettle(const RunFolder& run, const StageOutCommand& options, Output& output) {
  return options.dry_run ? Look(run) : Settle(run, options, output);
}

/// Returns the first exit code that is not 0.
int Print(const StageOutCommand& options, const std::vector<SettledRun>& rows, Output& output) {
  int exit_code = 0;
  Json document{{"schema", "slipway.stage_out/1"}, {"dry_run", options.dry_run}, {"runs", Json::array()}};
  std::string text;
  for (const auto& row : rows) {
    document["runs"].push_back(row.document);
    text += (text.empty() ? "" : "\n") + row.text;
    if (exit_code == 0) exit_code = row.exit_code;
  }
  output.Print({document, text.empty() ? "no run has left anything in a tier" : text, ""});
  return exit_code;
}

/// One run that cannot be brought out does not keep the others from it.
int SettleAll(const StageOutCommand& options, Session& session) {
  std::vector<SettledRun> rows;
  for (const auto& run : ListRuns(session.runs())) {
    try {
      if (ReadOutboxRecord(run)) rows.push_back(LookOrSettle(run, options, session.output));
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInterrupted) throw;
      rows.push_back({Json{{"run", run.id()}, {"state", "failed"}, {"error", ErrorDocument(error)}},
                      fmt::format("{}: {}", run.id(), error.what()), error.exit_code()});
    }
  }
  return Print(options, rows, session.output);
}

// ---- a directory

int StageDirectory(const StageOutCommand& options, Output& output) {
  const fs::path source = options.what[0];
  const fs::path destination = options.what[1];
  Json document{{"schema", "slipway.stage_out/1"},
                {"dry_run", options.dry_run},
                {"source", source.string()},
                {"destination", destination.string()}};
  if (options.dry_run) {
    const auto work = staging::WorkOf(source, destination);
    document.update(Json{{"files", work.files}, {"bytes", work.bytes.count}});
    output.Print({document, fmt::format("would copy {}", WorkText(work)), ""});
    return 0;
  }
  const Copying copying(options, output);
  const auto staged = staging::StageOutDirectory(source, destination, copying.options());
  document.update(
      Json{{"files", staged.files.size()}, {"bytes", staged.bytes.count}, {"seconds", staged.elapsed.count()}});
  output.Print({document,
                fmt::format("{}: {} in {} ({}), read back and compared", destination.string(),
                            WorkText({staged.files.size(), staged.bytes}), FormatDuration(staged.elapsed),
                            FormatRate(staged.bytes, staged.elapsed)),
                destination.string()});
  return 0;
}

}  // namespace

int StageOut(const StageOutCommand& options, Session& session) {
  if (options.all && !options.what.empty()) {
    throw Error(ErrorKind::kUsage, "--all stands instead of a run", "leave one of them out");
  }
  if (options.all) return SettleAll(options, session);
  if (options.what.size() == 2) return StageDirectory(options, session.output);
  const auto run = FindRun(session, options.what.empty() ? "last" : options.what.front());
  return Print(options, {LookOrSettle(run, options, session.output)}, session.output);
}

}  // namespace slipway::launcher
