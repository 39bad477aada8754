/// `manage FOLDER PLAN`: runs or resumes the ensemble of a KillPlan; writes down in the folder what it acknowledges.
/// `trial ...`: is one of its trials.
#include <fcntl.h>
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/ensemble/kill_plan.h"
#include "bench/ensemble/process_runner.h"
#include "core/error.h"
#include "core/files.h"
#include "ensemble/manager/manager.h"

namespace slipway::ensemble {
namespace {

/// Writes down what the manager acknowledges as durable: "T STATE VALUE" of final trials.
class Acknowledger : public EnsembleObserver {
 public:
  explicit Acknowledger(const std::filesystem::path& folder)
      : file_(OpenFile(folder / "acknowledged", O_WRONLY | O_APPEND | O_CREAT)) {}
  void AttemptStarted(const TrialRecord&) override {}
  void MetricReported(const MetricRecord&) override {}
  void Warned(const std::string&) override {}
  void AttemptEnded(const TrialRecord& trial, TrialState, const TrialRecord*) override {
    if (!IsFinal(trial.state)) return;
    WriteAll(file_.get(), fmt::format("{} {} {}\n", trial.number, WordOf(trial.state), trial.objective.value_or(-1)),
             "acknowledged");
  }

 private:
  UniqueFd file_;
};

int Manage(const std::filesystem::path& folder, const KillPlan& plan) {
  const auto options = OptionsOf(plan, folder);
  auto book = TrialBook::OpenForWriting(folder);
  ProcessRunner runner(folder, {plan.steps, plan.stubborn});
  Acknowledger observer(folder);
  RunEnsemble(book, options, runner, observer);
  return 0;
}

}  // namespace
}  // namespace slipway::ensemble

int main(int argc, char** argv) {
  using namespace slipway::ensemble;
  const std::vector<std::string> words(argv, argv + argc);
  try {
    if (words.at(1) == "trial") return RunTrial(words);
    return Manage(words.at(2), KillPlanFromJson(slipway::Json::parse(words.at(3))));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 70;
  }
}
