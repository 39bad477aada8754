/// The model ensemble of a run, as `ensemble.json` in its folder tells it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "ensemble/analysis/selection.h"

namespace slipway::launcher {

inline constexpr const char* kModelEnsembleName = "ensemble.json";

/// What other commands tell about it.
struct ModelEnsemble {
  std::string metric;
  double score = 0;  ///< on the validation records
  std::vector<std::pair<std::string, double>> other_scores;
  std::size_t candidates = 0;  ///< trials that it was chosen from
  std::vector<ensemble::Member> members;
};

/// Nothing where there is none, or the file is damaged: it can be computed again at any time.
std::optional<ModelEnsemble> ReadModelEnsemble(const std::filesystem::path& run_folder);

/// The weight of a trial in it, if it is a member.
std::optional<double> WeightOf(const ModelEnsemble& models, ensemble::TrialNumber trial);

/// "log_loss 0.31 by 3 of 8 trials: 4 (0.500), 2 (0.250), 7 (0.250); accuracy 0.912".
std::string Describe(const ModelEnsemble& models);
Json ToJson(const ModelEnsemble& models);

}  // namespace slipway::launcher
