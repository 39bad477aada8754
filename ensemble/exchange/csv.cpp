#include "ensemble/exchange/csv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "core/text.h"

namespace slipway::ensemble {
namespace {

std::string WithValidUtf8(std::string_view text) {
  const std::string dumped = JsonText(text);
  return Json::parse(dumped).get<std::string>();
}

bool LooksLikeFormula(std::string_view text) {
  return !text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos;
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char letter : text) quoted += letter == '"' ? "\"\"" : std::string(1, letter);
  return quoted + '"';
}

/// A number stays a number, whatever its sign; only texts can be formulas.
std::string Field(const Scalar& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return Describe(value);
  return text->empty() ? Quoted("") : CsvText(*text);
}

std::string Field(const std::optional<double>& number) { return number ? Describe(Scalar{*number}) : std::string(); }

std::optional<double> SecondsOf(const TrialRecord& trial) {
  if (!trial.started || !trial.ended) return std::nullopt;
  return std::max(0.0, *trial.ended - *trial.started);
}

std::string Unique(const char* prefix, const std::string& name,
                   std::initializer_list<const std::vector<std::string>*> taken) {
  const bool is_taken =
      std::ranges::any_of(taken, [&](const auto* names) { return std::ranges::find(*names, name) != names->end(); });
  return is_taken ? prefix + name : name;
}

}  // namespace

std::string CsvText(std::string_view text) {
  std::string valid = WithValidUtf8(text);
  if (LooksLikeFormula(valid)) valid.insert(0, 1, '\'');
  return valid.find_first_of(",\"\r\n") == std::string::npos ? valid : Quoted(valid);
}

TrialsCsv::TrialsCsv(const StudyRecord& study, const SearchSpace& space) : objectives_(study.objectives.size()) {
  const std::vector<std::string> own = {"trial", "rank", "state", "seconds", "attempts", "reason"};
  std::vector<std::string> objectives, parameters;
  for (const auto& objective : study.objectives) {
    objectives.push_back(Unique("objective.", objective.ValueName(), {&own, &objectives}));
  }
  for (const auto& parameter : space.parameters()) {
    parameters.push_back(Unique("parameter.", parameter.name, {&own, &objectives}));
    parameters_.push_back(parameter.name);
  }
  std::vector<std::string> columns = {"trial", "rank", "state"};
  columns.insert(columns.end(), objectives.begin(), objectives.end());
  columns.insert(columns.end(), {"seconds", "attempts", "reason"});
  columns.insert(columns.end(), parameters.begin(), parameters.end());
  for (auto& column : columns) column = CsvText(column);
  header_ = fmt::format("{}", fmt::join(columns, ","));
}

std::string TrialsCsv::Row(const TrialRecord& trial, std::optional<int> rank) const {
  std::vector<std::string> fields = {std::to_string(trial.number), rank ? std::to_string(*rank) : std::string(),
                                     std::string(WordOf(trial.state)), Field(trial.objective)};
  for (std::size_t i = 1; i < objectives_; ++i) {
    fields.push_back(i <= trial.further.size() ? Field(Scalar{trial.further[i - 1]}) : std::string());
  }
  fields.insert(fields.end(),
                {Field(SecondsOf(trial)), std::to_string(trial.attempts), CsvText(FirstLine(trial.reason))});
  for (const auto& name : parameters_) {
    const Scalar* value = Find(trial.parameters, name);
    fields.push_back(value == nullptr ? std::string() : Field(*value));
  }
  return fmt::format("{}", fmt::join(fields, ","));
}

}  // namespace slipway::ensemble
