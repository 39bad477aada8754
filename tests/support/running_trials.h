/// A trial book whose manager is gone, with trials that it calls running.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/files.h"
#include "ensemble/model/scalar.h"
#include "ensemble/space/space.h"
#include "ensemble/store/trial_book.h"

namespace slipway::test {

/// `processes`: of each trial, its host and its process.
inline void WriteRunningTrials(const std::filesystem::path& folder,
                               const std::vector<std::pair<std::string, ProcessIdentity>>& processes) {
  ensemble::StudyRecord study;
  study.objectives = {{"accuracy"}};
  study.trials = std::ssize(processes);
  study.sampler = "random";
  study.spec_hash = "h";
  study.space = R"({"lr":{"uniform":[0,1]}})";
  auto book = ensemble::TrialBook::OpenForWriting(folder);
  book.CreateStudy(study, ensemble::ParseSpace(Json::parse(study.space)));
  for (ensemble::TrialNumber number = 0; const auto& [host, process] : processes) {
    ensemble::TrialRecord trial;
    trial.number = number;
    trial.parameters = {{"lr", 0.5 / static_cast<double>(number + 1)}};
    trial.configuration = ensemble::ConfigurationHash(trial.parameters);
    ensemble::Changes changes;
    changes.time = 1000;
    changes.host = host;
    changes.trials.push_back(trial);
    changes.claims.push_back({number, 1});
    changes.starts.push_back({number, 1, process});
    book.Write(changes);
    ++number;
  }
}

/// The lock says who the manager is: this process, until here.
inline void LoseManager(const std::filesystem::path& folder) { WriteFile(folder / ensemble::kLockName, ""); }

}  // namespace slipway::test
