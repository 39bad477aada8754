/// `manage FOLDER TRIALS PARALLEL SAMPLER`: runs or resumes an ensemble; prints "ended T" when that is durable.
/// `trial FOLDER T ATTEMPT VALUE`: is one of its trials.
#include <fcntl.h>
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "core/error.h"
#include "core/files.h"
#include "ensemble/manager.h"
#include "tests/ensemble/process_runner.h"

namespace slipway::ensemble {
namespace {

/// Writes down what the manager acknowledges as durable.
class Acknowledger : public EnsembleObserver {
 public:
  explicit Acknowledger(const std::filesystem::path& folder)
      : file_(OpenFile(folder / "acknowledged", O_WRONLY | O_APPEND | O_CREAT)) {}
  void AttemptStarted(const TrialRecord&) override {}
  void MetricReported(const MetricRecord&) override {}
  void AttemptEnded(const TrialRecord& trial, TrialState state, const TrialRecord*) override {
    if (state == TrialState::kComplete) WriteAll(file_.get(), std::to_string(trial.number) + "\n", "acknowledged");
  }

 private:
  UniqueFd file_;
};

int Manage(const std::filesystem::path& folder, int trials, int parallel, const std::string& sampler) {
  EnsembleOptions options;
  options.objectives = {{"accuracy"}};
  options.trials = trials;
  options.parallel = parallel;
  options.sampler = sampler;
  options.grid_points = 100;
  options.space = ParseSpace(Json::parse(R"({"lr":{"log":[1e-4,1]}})"));
  auto book = TrialBook::OpenForWriting(folder);
  ProcessRunner runner(folder);
  Acknowledger observer(folder);
  const auto summary = RunEnsemble(book, options, runner, observer);
  return summary.complete == trials ? 0 : 1;
}

}  // namespace
}  // namespace slipway::ensemble

int main(int argc, char** argv) {
  using namespace slipway::ensemble;
  const std::vector<std::string> words(argv, argv + argc);
  try {
    if (words.at(1) == "manage")
      return Manage(words.at(2), std::stoi(words.at(3)), std::stoi(words.at(4)), words.at(5));
    return RunTrial(words.at(2), std::stoll(words.at(3)), std::stoi(words.at(4)), words.at(5));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 70;
  }
}
