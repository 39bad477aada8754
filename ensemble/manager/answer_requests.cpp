#include "ensemble/manager/answer_requests.h"

#include <fmt/format.h>

#include "core/error.h"
#include "ensemble/manager/requests.h"
#include "ensemble/samplers/first_points.h"

namespace slipway::ensemble {
namespace {

class Answerer {
 public:
  Answerer(const EnsembleOptions& options, OpenStudy& study, Changes& changes)
      : options_(options), study_(study), changes_(changes) {}

  std::string operator()(const Enqueue& enqueue) {
    if (!study_.HasRoom()) {
      return fmt::format("refused: all {} trials are used; raise ensemble.trials", options_.trials);
    }
    const auto configuration = study_.NextConfiguration();
    study_.Add(CompletedPoint(options_.space, enqueue.point, options_.seed, configuration),
               std::string(kEnqueuedOrigin), std::nullopt, changes_);
    return fmt::format("enqueued as trial {}", configuration * options_.repeats);
  }

  std::string operator()(const Retry& retry) {
    if (!study_.trials().Has(retry.trial)) return fmt::format("refused: there is no trial {}", retry.trial);
    TrialRecord& trial = study_.Edit(retry.trial);
    if (!MayBeRetried(trial.state))
      return fmt::format("refused: trial {} is {}", retry.trial, TrialStateName(trial.state));
    trial.state = TrialState::kQueued;
    trial.objective.reset();
    trial.failures = 0;
    trial.reason.clear();
    study_.Changed(retry.trial);
    changes_.requeued.push_back(retry.trial);
    return fmt::format("trial {} is queued again", retry.trial);
  }

  std::string operator()(const Malformed& malformed) { return "refused: " + malformed.reason; }

 private:
  const EnsembleOptions& options_;
  OpenStudy& study_;
  Changes& changes_;
};

}  // namespace

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
      changes.answers.push_back({request.name, "refused: " + error.message()});
    }
  }
  for (const auto trial : changes.requeued) judge.End(trial, TrialState::kQueued);
}

}  // namespace slipway::ensemble
