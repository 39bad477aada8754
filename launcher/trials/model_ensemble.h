/// The model ensemble of a run, as stored in `ensemble.json` in its folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "ensemble/model/records.h"

namespace slipway::launcher {

inline constexpr const char* kModelEnsembleName = "ensemble.json";

struct ModelMember {
  std::int64_t number = 0;  ///< of the trial or configuration
  double weight = 1;        ///< the weights of all members sum to 1
  std::vector<ensemble::TrialNumber> trials;
};

/// The parts that other commands show.
struct ModelEnsemble {
  std::string by;  ///< what a member is: "trial", "configuration"
  std::string metric;
  double score = 0;  ///< on the validation records
  std::vector<std::pair<std::string, double>> other_scores;
  std::size_t candidates = 0;  ///< it was chosen from so many
  std::vector<ModelMember> members;
};

/// Reads it; nothing when it is missing or damaged, since it can be computed again at any time.
std::optional<ModelEnsemble> ReadModelEnsemble(const std::filesystem::path& run_folder);

/// The weight of a trial in it, if it is a member or one of its repeats.
std::optional<double> WeightOf(const ModelEnsemble& models, ensemble::TrialNumber trial);

/// "log_loss 0.31 by 3 of 8 trials: 4 (0.500), 2 (0.250), 7 (0.250); accuracy 0.912".
std::string Describe(const ModelEnsemble& models);
Json ToJson(const ModelEnsemble& models);

}  // namespace slipway::launcher
