#include "launcher/exports/tensorboard_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/json_text.h"
#include "core/parse_utc.h"
#include "launcher/exports/output_folder.h"

namespace slipway::launcher {
namespace {

using staging::HyperParameter;
using staging::HyperParameterColumn;

constexpr std::size_t kMostChoices = 32;  // of a column

/// The column of one parameter over all sessions.
class ColumnMaker {
 public:
  void Add(const HyperParameter& value) {
    if (const auto* number = std::get_if<double>(&value)) {
      low_ = std::min(low_, *number);
      high_ = std::max(high_, *number);
      ++numbers_;
    } else if (std::holds_alternative<bool>(value)) {
      ++truths_;
    } else if (texts_.size() <= kMostChoices) {
      texts_.insert(std::get<std::string>(value));
    }
  }

  HyperParameterColumn Make(const std::string& name) const {
    HyperParameterColumn column{name};
    if (!texts_.empty()) {
      if (texts_.size() <= kMostChoices && numbers_ + truths_ == 0) column.values.assign(texts_.begin(), texts_.end());
    } else if (truths_ > 0 && numbers_ == 0) {
      column.kind = HyperParameterColumn::Kind::kTruth;
      column.values = {true, false};
    } else if (truths_ == 0) {
      column.kind = HyperParameterColumn::Kind::kNumber;
      column.interval = std::pair(low_, high_);
    }
    return column;
  }

 private:
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
  int numbers_ = 0;
  int truths_ = 0;
  std::set<std::string> texts_;
};

staging::ExperimentColumns ColumnsOf(const ExportedRun& run, const std::set<std::string>& metrics) {
  std::map<std::string, ColumnMaker> makers;
  for (const auto& session : run.sessions) {
    for (const auto& [name, value] : HyperParametersOf(session.parameters)) makers[name].Add(value);
  }
  staging::ExperimentColumns columns;
  columns.description = run.tags.description;
  for (const auto& [name, maker] : makers) columns.parameters.push_back(maker.Make(name));
  for (const auto& objective : run.objectives) columns.metrics.push_back(objective.metric);
  for (const auto& metric : metrics) {
    if (std::ranges::find(columns.metrics, metric) == columns.metrics.end()) columns.metrics.push_back(metric);
  }
  return columns;
}

/// Writes the sessions one after the other, as the values come.
class TensorboardWriter {
 public:
  TensorboardWriter(const ExportedRun& run, const std::filesystem::path& into)
      : run_(run), into_(into), created_(UnixSecondsIn(run.state.created).value_or(0)) {
    for (const auto& session : run.sessions) sessions_[{session.trial, session.trial ? 0 : session.attempt}] = &session;
  }

  void Take(const RunValue& value) {
    const auto found = sessions_.find({value.trial, value.trial ? 0 : value.attempt});
    if (found == sessions_.end()) return;  // a trial that began after the list was read
    const auto& session = *found->second;
    metrics_.insert(value.name);
    files_.Append(FileOf(session, value.attempt),
                  staging::ScalarsEvent(value.time != 0 ? value.time : StartOf(session), value.step,
                                        {{std::string_view(value.name), value.value}}));
  }

  /// Before the values.
  void Begin() {
    for (const auto& session : run_.sessions) {
      const auto start = StartOf(session);
      for (int attempt = FirstOf(session); attempt <= session.attempt; ++attempt) {
        files_.Append(FileOf(session, attempt), staging::EventFileHeader(start));
      }
      if (session.attempt == 0) continue;  // it has not begun
      files_.Append(FileOf(session, FirstOf(session)),
                    staging::SessionStartEvent(start, HyperParametersOf(session.parameters), session.group));
    }
  }

  void End() {
    for (const auto& session : run_.sessions) {
      const auto status = StatusOf(session.state);
      const bool has_ended = status == staging::SessionStatus::kSuccess || status == staging::SessionStatus::kFailure;
      if (!has_ended || session.attempt == 0) continue;
      files_.Append(FileOf(session, session.attempt),
                    staging::SessionEndEvent(session.ended.value_or(StartOf(session)), status));
    }
    const auto above = into_ / EventFileOf(0);
    files_.Append(above, staging::EventFileHeader(created_));
    files_.Append(above, staging::ExperimentEvent(created_, ColumnsOf(run_, metrics_)));
    files_.Flush();
  }

 private:
  static int FirstOf(const RunSession& session) { return session.trial ? 1 : session.attempt; }
  double StartOf(const RunSession& session) const { return session.started.value_or(created_); }
  std::filesystem::path FileOf(const RunSession& session, int attempt) const {
    return into_ / SessionFolder(session) / EventFileOf(attempt);
  }

  using Key = std::pair<std::optional<ensemble::TrialNumber>, int>;
  const ExportedRun& run_;
  std::filesystem::path into_;
  double created_;
  std::map<Key, const RunSession*> sessions_;
  std::set<std::string> metrics_;
  ManyFiles files_;
};

}  // namespace

std::string EventFileOf(int attempt) { return fmt::format("{}.{:010}.slipway", staging::kEventFileName, attempt); }

int AttemptOfEventFile(const std::string& name) {
  const auto begin = staging::kEventFileName.size() + 1;
  int attempt = 0;
  if (!name.starts_with(staging::kEventFileName) || name.size() <= begin) return 0;
  std::from_chars(name.data() + begin, name.data() + name.size(), attempt);
  return name == EventFileOf(attempt) ? attempt : 0;
}

staging::HyperParameters HyperParametersOf(const Json& parameters) {
  staging::HyperParameters values;
  if (!parameters.is_object()) return values;
  for (const auto& [name, value] : parameters.items()) {
    if (value.is_boolean()) {
      values.emplace_back(name, value.get<bool>());
    } else if (value.is_number()) {
      values.emplace_back(name, value.get<double>());
    } else {
      values.emplace_back(name, PlainText(value));
    }
  }
  return values;
}

staging::SessionStatus StatusOf(const std::string& state) {
  using enum staging::SessionStatus;
  if (state == "complete" || state == "pruned" || state == "succeeded") return kSuccess;
  if (state == "failed" || state == "cancelled" || state == "lost") return kFailure;
  return state == "running" ? kRunning : kUnknown;
}

void WriteTensorboard(const RunFolder& folder, const ExportedRun& run, const std::filesystem::path& into) {
  TensorboardWriter writer(run, into);
  writer.Begin();
  ForEachValue(folder, run, [&](const RunValue& value) { writer.Take(value); });
  writer.End();
}

}  // namespace slipway::launcher
