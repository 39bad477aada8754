// A study of one parameter, run by the manager with a runner that plays its trials.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "ensemble/manager/manager.h"
#include "ensemble/study/open_study.h"
#include "tests/ensemble/manager/fake_runner.h"
#include "tests/support/temp_directory.h"

namespace slipway::ensemble {

inline EnsembleOptions ManagerOptions(const char* space, std::int64_t trials, int parallel = 2) {
  EnsembleOptions options;
  options.objectives = {{"accuracy"}};
  options.trials = trials;
  options.parallel = parallel;
  options.space = ParseSpace(Json::parse(space));
  return options;
}

inline constexpr const char* kLr = R"({"lr":{"log":[1e-4,1]}})";

inline Script ReportsLr(TrialNumber, int, const Json& parameters) {
  return Reports("accuracy", parameters.at("lr").get<double>());
}

inline EnsembleSummary RunByManager(const test::TempDirectory& folder, const EnsembleOptions& options,
                                    FakeRunner& runner) {
  auto book = TrialBook::OpenForWriting(folder.path());
  CountingObserver observer;
  return RunEnsemble(book, options, runner, observer);
}

inline std::vector<TrialRecord> TrialsIn(const test::TempDirectory& folder) {
  return TrialBook::OpenForReading(folder.path()).Trials();
}

}  // namespace slipway::ensemble
