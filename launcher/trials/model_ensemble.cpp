#include "launcher/trials/model_ensemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/documents.h"
#include "core/text.h"

namespace slipway::launcher {
namespace {

ModelEnsemble FromJson(const Json& document) {
  ModelEnsemble models;
  models.by = document.value("by", "trial");
  models.metric = document.at("metric").get<std::string>();
  models.score = document.at("score").get<double>();
  const Json others = document.value("other_scores", Json::object());
  for (const auto& [metric, score] : others.items()) {
    models.other_scores.emplace_back(metric, score.get<double>());
  }
  models.candidates = document.at("candidates").get<std::size_t>();
  for (const auto& member : document.at("members")) {
    const auto number = member.at(models.by).get<std::int64_t>();
    const std::vector<ensemble::TrialNumber> alone = {number};
    models.members.push_back({number, member.at("weight").get<double>(), member.value("trials", alone)});
  }
  return models;
}

}  // namespace

std::optional<ModelEnsemble> ReadModelEnsemble(const std::filesystem::path& run_folder) try {
  const auto text = ReadDocumentIfPresent(run_folder / kModelEnsembleName);
  if (!text) return std::nullopt;
  return FromJson(Json::parse(*text));
} catch (const std::exception&) {
  return std::nullopt;
}

std::optional<double> WeightOf(const ModelEnsemble& models, ensemble::TrialNumber trial) {
  for (const auto& member : models.members) {
    if (std::ranges::find(member.trials, trial) == member.trials.end()) continue;
    return member.weight / static_cast<double>(member.trials.size());
  }
  return std::nullopt;
}

std::string Describe(const ModelEnsemble& models) {
  const auto member_text = [](const auto& member) { return fmt::format("{} ({:.3f})", member.number, member.weight); };
  const auto members = JoinEach(models.members, ", ", member_text);
  auto text = fmt::format("{} {:.6g} by {} of {} {}s: {}", models.metric, models.score, models.members.size(),
                          models.candidates, models.by, members);
  for (const auto& [metric, score] : models.other_scores) text += fmt::format("; {} {:.6g}", metric, score);
  return text;
}

Json ToJson(const ModelEnsemble& models) {
  Json members = Json::array();
  for (const auto& [number, weight, trials] : models.members) {
    members.push_back(Json{{models.by, number}, {"weight", weight}});
    if (trials.size() > 1) members.back()["trials"] = trials;
  }
  Json other_scores = Json::object();
  for (const auto& [metric, score] : models.other_scores) other_scores[metric] = score;
  return Json{{"metric", models.metric},
              {"score", models.score},
              {"other_scores", std::move(other_scores)},
              {"candidates", models.candidates},
              {"members", std::move(members)}};
}

}  // namespace slipway::launcher
