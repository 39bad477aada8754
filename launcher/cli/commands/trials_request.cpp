#include "launcher/cli/commands/trials_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/documents.h"
#include "core/error.h"
#include "core/output.h"
#include "core/units.h"
#include "ensemble/exchange/import_trials.h"
#include "ensemble/manager/requests.h"
#include "ensemble/model/records.h"
#include "ensemble/space/space.h"
#include "ensemble/store/holder.h"
#include "ensemble/store/trial_book.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

using ensemble::AttemptRecord;
using ensemble::TrialBook;

/// Seconds, as the run began or last went on. Nothing where the plan does not say.
std::optional<double> LimitInPlan(const std::filesystem::path& run_folder, std::string_view section) {
  const auto plan = Json::parse(ReadDocumentIfPresent(run_folder / "plan.json").value_or(""), nullptr, false);
  const Json::json_pointer field(fmt::format("/spec/{}/time_limit", section));
  if (!plan.is_object() || !plan.contains(field) || !plan.at(field).is_number()) return std::nullopt;
  return plan.at(field).get<double>();
}

double SecondsOf(const std::vector<AttemptRecord>& attempts) {
  double seconds = 0;
  for (const auto& attempt : attempts) {
    if (attempt.started && attempt.ended) seconds += std::max(0.0, *attempt.ended - *attempt.started);
  }
  return seconds;
}

/// Whole minutes, as Slurm counts, or seconds below one.
std::string Twice(double seconds) {
  const double twice = 2 * seconds;
  return twice < 60 ? fmt::format("{:.0f}s", std::ceil(twice)) : fmt::format("{:.0f}m", std::ceil(twice / 60));
}

std::string HowToGiveMore(const std::string& run, std::string_view section, double seconds, bool has_manager) {
  const auto resume = fmt::format("slipway resume {} --set {}.time_limit={}", run, section, Twice(seconds));
  return has_manager ? fmt::format("slipway cancel {}, then {}", run, resume) : resume;
}

/// That the trial, whose `attempts` these are, will run into its time limit again, and how it gets more time; empty
/// when nothing speaks against it. `has_manager`: the run has one, which holds to the limit that it began with.
std::string RemarkOnRetry(const TrialsRetryOptions& options, const std::vector<AttemptRecord>& attempts,
                          bool has_manager) {
  if (attempts.empty() || attempts.back().outcome != ensemble::Outcome::kTimedOut) return {};
  const bool of_trial = attempts.back().stop == ensemble::StopReason::kTrialTimeLimit;
  const std::string_view section = of_trial ? "ensemble" : "launch";
  const auto limit = LimitInPlan(options.run_folder, section);
  if (!limit) return {};
  if (!of_trial) {
    return fmt::format(
        "its job ran past launch.time_limit ({}) and will again, unless it goes on from a checkpoint; "
        "for more: {}",
        FormatDuration(Seconds(*limit)), HowToGiveMore(options.selector, section, *limit, has_manager));
  }
  const double used = SecondsOf(attempts);
  if (used < *limit) return {};
  return fmt::format(
      "it has used up ensemble.time_limit ({}), which counts all its attempts together, and times out at "
      "once; for more: {}",
      FormatDuration(Seconds(*limit)), HowToGiveMore(options.selector, section, used, has_manager));
}

/// Longer than the pause between two snapshots of a book on a network file system.
constexpr auto kAnswerPatience = std::chrono::seconds(8);
constexpr auto kPause = std::chrono::milliseconds(100);

/// 3, 0.5, true and null are what they look like, unless the parameter has only the text, as a choice of '2' and '3'.
/// Everything else is text. `parameter` may be null.
Json ValueFrom(const std::string& text, const ensemble::Parameter* parameter) {
  auto value = Json::parse(text, nullptr, false);
  if (value.is_discarded() || value.is_structured()) return text;
  const auto has = [&](const Json& json) {
    const auto scalar = ensemble::ScalarFromJson(json);
    return parameter != nullptr && scalar && ensemble::Contains(parameter->domain, *scalar);
  };
  return !has(value) && has(text) ? Json(text) : value;
}

ensemble::Point PointFrom(const std::vector<std::string>& parameters, const ensemble::SearchSpace& space) {
  Json point = Json::object();
  for (const auto& parameter : parameters) {
    const auto equals = parameter.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw Error(ErrorKind::kUsage, fmt::format("'{}' is not of the form name=value", parameter),
                  "write for example: slipway trials enqueue -p lr=0.01 -p optimizer=adam");
    }
    const auto name = parameter.substr(0, equals);
    if (point.contains(name)) {
      throw Error(ErrorKind::kUsage, fmt::format("'{}' is given twice", name),
                  "a configuration has one value of it; line others up by further calls");
    }
    point[name] = ValueFrom(parameter.substr(equals + 1), ensemble::FindParameter(space.parameters(), name));
  }
  return ensemble::PointFromJson(point);
}

bool HasManager(const fs::path& run_folder) { return ensemble::HasManager(run_folder / ensemble::kLockName); }

/// The request's file goes when its answer is in the book; where readers see a snapshot of that (network file systems),
/// the answer comes with the next one.
std::optional<ensemble::RequestAnswer> AnswerIn(const fs::path& run_folder, const std::string& name) {
  if (fs::exists(run_folder / ensemble::kRequestsFolder / name)) return std::nullopt;
  return TrialBook::OpenForReading(run_folder).AnswerTo(name);
}

/// `slipway trials new` makes none.
bool HasBook(const fs::path& run_folder) { return fs::exists(run_folder / ensemble::kBookName); }

std::int64_t WaitingConfigurations(const fs::path& run_folder) {
  const auto requests = ensemble::WaitingRequests(run_folder);
  return std::count_if(requests.begin(), requests.end(), [](const ensemble::Request& request) {
    return std::holds_alternative<ensemble::Enqueue>(request.what);
  });
}

/// The number of trials that all configurations need, including those that wait; nothing where the budget suffices.
/// Imported trials may or may not count. Only the next manager knows, so then the answer is nothing, too.
std::optional<std::int64_t> BudgetNeeded(const fs::path& run_folder) {
  auto book = TrialBook::OpenForReading(run_folder);
  const auto study = book.Study();
  const auto trials = book.Trials();
  if (!study || ensemble::CountImported(trials) > 0) return std::nullopt;
  const auto needed = std::ssize(trials) / study->repeats + WaitingConfigurations(run_folder);
  return needed > study->trials ? std::optional(needed) : std::nullopt;
}

/// It is in the folder, and will be taken up.
ensemble::RequestAnswer Accepted(std::string text) { return {true, std::move(text)}; }

/// How a request goes on that no manager is there to take up.
std::string HowToGoOn(const fs::path& run_folder, const std::string& run) {
  if (!HasBook(run_folder)) {
    return fmt::format("waits for the first trial: 'slipway trials ask {0}' or 'slipway resume {0}' carries it out",
                       run);
  }
  const auto needed = BudgetNeeded(run_folder);
  if (!needed) return fmt::format("waits for the next manager: 'slipway resume {}' carries it out", run);
  return fmt::format(
      "waits, because the budget has no trials left: 'slipway resume {} --set ensemble.trials={}' carries it out", run,
      *needed);
}

/// What the manager has said, or that it will be asked. `run`: the selector.
ensemble::RequestAnswer AwaitAnswer(const fs::path& run_folder, const std::string& run, const std::string& name) {
  if (!HasManager(run_folder)) return Accepted(HowToGoOn(run_folder, run));
  auto& clock = SystemClock();
  const auto end = clock.Steady() + kAnswerPatience;
  std::optional<ensemble::RequestAnswer> answer;
  while (!(answer = AnswerIn(run_folder, name)) && clock.Steady() < end) clock.Sleep(kPause);
  return answer.value_or(Accepted("waits for the manager, which is busy"));
}

/// `remark`: what the answer does not say, for people.
template <class Options>
int Ask(const Options& options, const std::variant<ensemble::Enqueue, ensemble::Retry>& what, Output& output,
        const std::string& remark = {}) {
  const auto name = ensemble::PostRequest(options.run_folder, what);
  const auto answer = AwaitAnswer(options.run_folder, options.selector, name);
  const Json document{
      {"schema", "slipway.trials.request/1"}, {"request", name}, {"answer", answer.text}, {"remark", remark}};
  output.Print({document, answer.text + "\n" + (remark.empty() ? "" : remark + "\n"), name});
  return answer.accepted ? 0 : 1;
}

/// That of the study, else of the plan.
ensemble::SearchSpace SpaceFor(const TrialsEnqueueOptions& options) {
  if (!HasBook(options.run_folder)) return options.planned_space();
  const auto study = TrialBook::OpenForReading(options.run_folder).Study();
  return study ? ensemble::StoredSpace(*study) : options.planned_space();
}

std::int64_t NamedTrial(std::int64_t trial, const std::vector<ensemble::TrialRecord>& trials) {
  if (trial < 0 || trial >= std::ssize(trials)) {
    throw Error(ErrorKind::kUsage, fmt::format("there is no trial {}", trial),
                trials.empty() ? "no trial has begun yet" : fmt::format("trials 0 to {} exist", trials.size() - 1));
  }
  const auto state = trials[static_cast<std::size_t>(trial)].state;
  if (!ensemble::MayBeRetried(state)) {
    throw Error(ErrorKind::kUsage, fmt::format("trial {} is {}", trial, WordOf(state)),
                "only failed, pruned and cancelled trials can run again");
  }
  return trial;
}

bool Fits(const ensemble::TrialRecord& trial, const TrialsRetryOptions& options, TrialBook& book) {
  if (!ensemble::MayBeRetried(trial.state)) return false;
  if (options.failed && trial.state != ensemble::TrialState::kFailed) return false;
  if (options.outcome.empty()) return true;
  const auto attempts = book.Attempts(trial.number);
  return !attempts.empty() && WordOf(attempts.back().outcome) == options.outcome;
}

std::vector<std::int64_t> FittingTrials(const TrialsRetryOptions& options, TrialBook& book) {
  if (!options.failed && options.outcome.empty()) {
    throw Error(ErrorKind::kUsage, "no trial is named",
                "name one, or all of a kind: slipway trials retry 7, --failed, --outcome no_objective");
  }
  std::vector<std::int64_t> fitting;
  for (const auto& trial : book.Trials()) {
    if (Fits(trial, options, book)) fitting.push_back(trial.number);
  }
  if (!fitting.empty()) return fitting;
  const auto* of_what = options.outcome.empty() ? "failed" : options.outcome.c_str();
  throw Error(ErrorKind::kUsage, fmt::format("no trial that could run again has ended as '{}'", of_what),
              "see how they ended: slipway trials ls --state failed");
}

}  // namespace

int TrialsEnqueue(const TrialsEnqueueOptions& options, Output& output) {
  const auto space = SpaceFor(options);
  const auto point = PointFrom(options.parameters, space);
  ensemble::CheckedPoint(space, point);
  return Ask(options, ensemble::Enqueue{point}, output);
}

int TrialsRetry(const TrialsRetryOptions& options, Output& output) {
  auto book = TrialBook::OpenForReading(options.run_folder);
  const auto trials =
      options.trial ? std::vector{NamedTrial(*options.trial, book.Trials())} : FittingTrials(options, book);
  const auto remark = RemarkOnRetry(options, book.Attempts(trials.front()), HasManager(options.run_folder));
  return Ask(options, ensemble::Retry{trials}, output, remark);
}

}  // namespace slipway::launcher
