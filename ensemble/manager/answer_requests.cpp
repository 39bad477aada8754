#include "ensemble/manager/answer_requests.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>

#include "core/error.h"
#include "ensemble/manager/requests.h"
#include "ensemble/samplers/first_points.h"

namespace slipway::ensemble {
namespace {

RequestAnswer Refused(const std::string& why) { return {false, "refused: " + why}; }

class Answerer {
 public:
  Answerer(const EnsembleOptions& options, OpenStudy& study, Changes& changes)
      : options_(options), study_(study), changes_(changes) {}

  RequestAnswer operator()(const Enqueue& enqueue) {
    if (!study_.HasBudget()) {
      return Refused(fmt::format("all {} trials are used; raise ensemble.trials", options_.trials));
    }
    const auto trial = AddEnqueued(options_, study_, enqueue.point, changes_);
    return {true, fmt::format("enqueued as trial {}", trial)};
  }

  RequestAnswer operator()(const Retry& retry) {
    std::int64_t again = 0;
    std::string refused;  // the first
    for (const auto trial : retry.trials) {
      const auto why_not = WhyNotAgain(trial);
      if (why_not.empty()) {
        QueueAgain(trial);
        ++again;
      } else if (refused.empty()) {
        refused = why_not;
      }
    }
    return AnswerTo(retry, again, refused);
  }

  RequestAnswer operator()(const Malformed& malformed) { return Refused(malformed.reason); }

 private:
  std::string WhyNotAgain(TrialNumber trial) const {
    if (!study_.trials().Has(trial)) return fmt::format("there is no trial {}", trial);
    const auto state = study_.at(trial).state;
    return MayBeRetried(state) ? "" : fmt::format("trial {} is {}", trial, WordOf(state));
  }

  void QueueAgain(TrialNumber number) {
    TrialRecord& trial = study_.Edit(number);
    trial.state = TrialState::kQueued;
    trial.objective.reset();
    trial.failures = 0;
    trial.reason.clear();
    study_.Changed(number);
    changes_.requeued.push_back(number);
  }

  /// The answer to a retry. `refused`: why the first refused trial is not queued again.
  static RequestAnswer AnswerTo(const Retry& retry, std::int64_t again, const std::string& refused) {
    if (again == 0) return Refused(refused.empty() ? "no trial is named" : refused);
    const auto answer = retry.trials.size() == 1 ? fmt::format("trial {} is queued again", retry.trials.front())
                                                 : fmt::format("{} trials are queued again", again);
    const auto left = std::ssize(retry.trials) - again;
    return {true, left == 0 ? answer : fmt::format("{}, {} not: {}", answer, left, refused)};
  }

  const EnsembleOptions& options_;
  OpenStudy& study_;
  Changes& changes_;
};

}  // namespace

TrialNumber AddEnqueued(const EnsembleOptions& options, OpenStudy& study, const Point& point, Changes& changes) {
  const auto configuration = study.NextConfiguration();
  study.Add(CompletedPoint(options.space, point, options.seed, configuration), std::string(kEnqueuedOrigin),
            std::nullopt, changes);
  return configuration * options.repeats;
}

void AnswerRequests(const EnsembleOptions& options, TrialBook& book, OpenStudy& study, ReportJudge& judge,
                    Changes& changes) {
  Answerer answerer(options, study, changes);
  for (const auto& request : WaitingRequests(options.requests_in)) {
    if (book.AnswerTo(request.name)) {
      RemoveRequest(options.requests_in, request.name);
      continue;
    }
    try {
      changes.answers.push_back({request.name, std::visit(answerer, request.what)});
    } catch (const Error& error) {
      changes.answers.push_back({request.name, Refused(error.message())});
    }
  }
  for (const auto trial : changes.requeued) judge.End(trial, TrialState::kQueued);
}

}  // namespace slipway::ensemble
