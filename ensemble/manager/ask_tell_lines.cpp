#include "ensemble/manager/ask_tell_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/nearest_word.h"
#include "core/number_words.h"
#include "ensemble/model/scalar.h"

namespace slipway::ensemble {
namespace {

[[noreturn]] void RefuseLine(const std::string& why, std::string next_step = {}) {
  throw Error(ErrorKind::kUsage, why, std::move(next_step));
}

/// One request. All members are checked before anything is done.
class RequestLine {
 public:
  explicit RequestLine(std::string_view line) : json_(Parsed(line)) {}

  std::string What() const { return Text("do"); }
  bool Has(const char* name) const { return json_.contains(name) && !json_.at(name).is_null(); }

  std::string Text(const char* name) const {
    if (!Has(name) || !json_.at(name).is_string())
      RefuseLine(fmt::format("'{}' must be a text", name), fmt::format(R"(write for example "{}": "ask")", name));
    return json_.at(name).get<std::string>();
  }

  /// False when it is missing.
  bool Flag(const char* name) const {
    if (!Has(name)) return false;
    if (!json_.at(name).is_boolean())
      RefuseLine(fmt::format("'{}' must be true or false", name), fmt::format(R"(write for example "{}": true)", name));
    return json_.at(name).get<bool>();
  }

  /// Errors: a member that `names` lacks, such as a misspelt one.
  void CheckMembers(const std::vector<std::string>& names) const {
    for (const auto& [name, unused] : json_.items()) {
      if (name == "do" || std::ranges::find(names, name) != names.end()) continue;
      RefuseLine(fmt::format("a request '{}' has no member '{}'{}", What(), name, SuggestWord(name, names)),
                 "leave it out: docs/reference/ask-and-tell.md has all members");
    }
  }

  /// Also 3.0, as `limit` is written in the answer to `ask`.
  std::int64_t Integer(const char* name) const {
    const auto scalar = Has(name) ? ScalarFromJson(json_.at(name)) : std::nullopt;
    if (const auto whole = scalar ? IntegerOf(*scalar) : std::nullopt) return *whole;
    RefuseLine(fmt::format("'{}' must be an integer", name), fmt::format(R"(write for example "{}": 3)", name));
  }

  std::optional<int> Attempt() const {
    if (!Has("attempt")) return std::nullopt;
    const auto attempt = Integer("attempt");
    if (attempt < 1 || attempt > std::numeric_limits<int>::max())
      RefuseLine("'attempt' must be a positive number",
                 "write the 'attempt' that the answer to 'ask' had, or leave it out");
    return static_cast<int>(attempt);
  }

  std::optional<double> OptionalNumber(const char* name) const {
    if (!Has(name)) return std::nullopt;
    return Number(name, json_.at(name));
  }

  /// A number, or one of the words "NaN", "Infinity" and "-Infinity": JSON has no numbers for these.
  static double Number(const std::string& name, const Json& json) {
    if (const auto number = NumberOfJson(json)) return *number;
    RefuseLine(fmt::format("'{}' must be a number, \"NaN\", \"Infinity\" or \"-Infinity\"", name),
               fmt::format(R"(write for example "{}": 0.25)", name));
  }

  std::vector<double> Numbers(const char* name) const {
    const Json& json = json_.at(name);
    if (!json.is_array()) return {Number(name, json)};
    std::vector<double> numbers;
    for (const auto& each : json) numbers.push_back(Number(name, each));
    return numbers;
  }

  const Json& Object(const char* name) const {
    if (!Has(name) || !json_.at(name).is_object())
      RefuseLine(fmt::format("'{}' must be an object", name),
                 fmt::format(R"(write for example "{}": {{"accuracy": 0.9}})", name));
    return json_.at(name);
  }

 private:
  static Json Parsed(std::string_view line) {
    if (line.size() > kLongestRequestBytes) {
      RefuseLine(fmt::format("the line has {} bytes; at most {} are read", line.size(), kLongestRequestBytes),
                 "send fewer members in one line");
    }
    Json json = Json::parse(line, nullptr, false);
    if (!json.is_object()) RefuseLine("the line is no JSON object", R"(write for example {"do":"ask"})");
    return json;
  }

  Json json_;
};

Json AnswerAsk(AskTell& session, const RequestLine&) { return ToJson(session.Ask()); }

Told ToldIn(const RequestLine& request) {
  const bool pruned = request.Flag("pruned");
  const bool failed = request.Has("failed");
  if (request.Has("value") + failed + pruned > 1)
    RefuseLine("'value', 'failed' and 'pruned' exclude each other", "give one of them");
  if (failed) return ToldFailed{request.Text("failed")};
  if (pruned) return ToldPruned{};
  return ToldResults{request.Has("value") ? request.Numbers("value") : std::vector<double>{}};
}

Json AnswerTell(AskTell& session, const RequestLine& request) {
  const auto told = session.Tell(request.Integer("trial"), ToldIn(request), request.Attempt());
  return ToJson(told, session.options());
}

ToldReport ReportIn(const AskTell& session, const RequestLine& request) {
  ToldReport report;
  report.step = request.Integer("step");
  report.epoch = request.OptionalNumber("epoch");
  if (report.epoch && !std::isfinite(*report.epoch))
    RefuseLine("'epoch' must be finite", "leave it out, or write a finite number");
  if (const auto value = request.OptionalNumber("value")) {
    report.metrics.emplace_back(session.options().objectives.front().metric, *value);
  }
  if (request.Has("metrics")) {
    for (const auto& [name, value] : request.Object("metrics").items()) {
      report.metrics.emplace_back(name, RequestLine::Number(name, value));
    }
  }
  if (report.metrics.empty()) RefuseLine("nothing is reported", R"(give "value", or "metrics" by their names)");
  return report;
}

Json AnswerReport(AskTell& session, const RequestLine& request) {
  const auto trial = request.Integer("trial");
  const auto advice = session.Report(trial, ReportIn(session, request), request.Attempt());
  Json answer{{"trial", trial}, {"decision", WordOf(advice.decision)}};
  if (!advice.reason.empty()) answer["reason"] = advice.reason;
  return answer;
}

Json AnswerBest(AskTell& session, const RequestLine&) {
  const auto best = session.study().Best();
  if (!best) return Json{{"trial", nullptr}};
  return ToJson(*best, session.options());
}

Json AnswerEnqueue(AskTell& session, const RequestLine& request) {
  return Json{{"trial", session.Enqueue(PointFromJson(request.Object("parameters")))}};
}

struct Handler {
  Json (*answer)(AskTell&, const RequestLine&);
  std::vector<std::string> members;  // without `do`
};

const std::map<std::string, Handler> kHandlers = {
    {"ask", {AnswerAsk, {}}},
    {"best", {AnswerBest, {}}},
    {"enqueue", {AnswerEnqueue, {"parameters"}}},
    {"report", {AnswerReport, {"trial", "attempt", "step", "epoch", "value", "metrics"}}},
    {"tell", {AnswerTell, {"trial", "attempt", "value", "failed", "pruned"}}}};

Json AnswerTo(AskTell& session, const RequestLine& request) {
  const auto what = request.What();
  const auto handler = kHandlers.find(what);
  if (handler != kHandlers.end()) {
    request.CheckMembers(handler->second.members);
    return handler->second.answer(session, request);
  }
  std::vector<std::string> words;
  for (const auto& [word, unused] : kHandlers) words.push_back(word);
  RefuseLine(fmt::format("unknown request '{}'{}", what, SuggestWord(what, words)),
             "requests are ask, tell, report, best and enqueue");
}

}  // namespace

Json ToJson(const std::variant<AskedTrial, NothingToRun>& asked) {
  if (const auto* nothing = std::get_if<NothingToRun>(&asked)) {
    return Json{{"trial", nullptr}, {"why", nothing->why}, {"running", nothing->running}};
  }
  const auto& trial = std::get<AskedTrial>(asked);
  Json document{{"trial", trial.trial}, {"attempt", trial.attempt}, {"repeat", trial.repeat}};
  if (trial.parent) document["parent"] = *trial.parent;
  if (trial.limit) document["limit"] = *trial.limit;
  document["parameters"] = ToJson(trial.parameters);
  return document;
}

Json ToJson(const TrialRecord& told, const EnsembleOptions& options) {
  Json objectives = Json::object();
  if (told.objective) objectives[options.objectives.front().metric] = JsonOf(*told.objective);
  for (std::size_t i = 0; i < told.further.size(); ++i) {
    objectives[options.objectives.at(i + 1).metric] = JsonOf(told.further[i]);
  }
  Json document{{"trial", told.number},
                {"state", WordOf(told.state)},
                {"objectives", std::move(objectives)},
                {"parameters", ToJson(told.parameters)}};
  if (!told.reason.empty()) document["reason"] = told.reason;
  return document;
}

Json Answer(AskTell& session, std::string_view line) {
  try {
    return AnswerTo(session, RequestLine(line));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUsage) throw;
    Json answer{{"error", error.message()}};
    if (!error.next_step().empty()) answer["next_step"] = error.next_step();
    return answer;
  }
}

}  // namespace slipway::ensemble
