#include "launcher/trials/model_ensemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/files.h"

namespace slipway::launcher {
namespace {

ModelEnsemble FromJson(const Json& document) {
  ModelEnsemble models;
  models.metric = document.at("metric").get<std::string>();
  models.score = document.at("score").get<double>();
  const Json others = document.value("other_scores", Json::object());
  for (const auto& [metric, score] : others.items()) {
    models.other_scores.emplace_back(metric, score.get<double>());
  }
  models.candidates = document.at("candidates").get<std::size_t>();
  for (const auto& member : document.at("members")) {
    models.members.push_back({member.at("trial").get<ensemble::TrialNumber>(), member.at("count").get<int>(),
                              member.at("weight").get<double>()});
  }
  return models;
}

}  // namespace

std::optional<ModelEnsemble> ReadModelEnsemble(const std::filesystem::path& run_folder) try {
  const auto text = ReadFileIfPresent(run_folder / kModelEnsembleName);
  if (!text) return std::nullopt;
  return FromJson(Json::parse(*text));
} catch (const std::exception&) {
  return std::nullopt;
}

std::optional<double> WeightOf(const ModelEnsemble& models, ensemble::TrialNumber trial) {
  const auto member = std::ranges::find(models.members, trial, &ensemble::Member::trial);
  return member == models.members.end() ? std::nullopt : std::optional(member->weight);
}

std::string Describe(const ModelEnsemble& models) {
  std::string members;
  for (const auto& member : models.members) {
    members += fmt::format("{}{} ({:.3f})", members.empty() ? "" : ", ", member.trial, member.weight);
  }
  auto text = fmt::format("{} {:.6g} by {} of {} trials: {}", models.metric, models.score, models.members.size(),
                          models.candidates, members);
  for (const auto& [metric, score] : models.other_scores) text += fmt::format("; {} {:.6g}", metric, score);
  return text;
}

Json ToJson(const ModelEnsemble& models) {
  Json members = Json::array();
  for (const auto& [trial, count, weight] : models.members) {
    members.push_back(Json{{"trial", trial}, {"weight", weight}});
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
