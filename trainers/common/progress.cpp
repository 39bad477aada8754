#include "trainers/common/progress.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace trainers {
namespace {

using nlohmann::json;

json ToJson(const Progress& progress) {
  const auto& train = progress.train;
  return {{"epoch", progress.epoch},
          {"step_in_epoch", progress.step_in_epoch},
          {"step", progress.step},
          {"shares", progress.shares},
          {"train", {{"loss", train.loss}, {"measures", train.measures}, {"records", train.records}}}};
}

std::int64_t Count(const json& document, const char* name) {
  const auto count = document.at(name).get<std::int64_t>();
  if (count < 0) throw std::runtime_error(fmt::format("{} is negative", name));
  return count;
}

Progress ProgressFromJson(const json& document) {
  Progress progress;
  progress.epoch = Count(document, "epoch");
  progress.step_in_epoch = Count(document, "step_in_epoch");
  progress.step = Count(document, "step");
  progress.shares = document.value("shares", progress.shares);  // older checkpoints have none
  const auto& train = document.at("train");
  progress.train = {train.at("loss").get<double>(), train.at("measures").get<std::vector<double>>(),
                    train.at("records").get<double>()};
  return progress;
}

void RequireSameCourse(const json& saved, const Course& course, const std::filesystem::path& file) {
  for (const auto& [name, value] : course) {
    const auto found = saved.find(name);
    const auto before = found == saved.end() ? std::string("none") : found->get<std::string>();
    if (before == value) continue;
    throw std::runtime_error(
        fmt::format("the checkpoint '{}' was made with {} {}, now it is {}: give the same value, or start afresh",
                    file.parent_path().string(), name, before, value));
  }
}

json ReadDocument(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) throw std::runtime_error(fmt::format("cannot read '{}'", file.string()));
  return json::parse(stream);
}

}  // namespace

void RequireSameShares(const Progress& progress, std::uint32_t now) {
  if (progress.step_in_epoch == 0 || progress.shares == now) return;
  throw std::runtime_error(
      fmt::format("the checkpoint stands inside epoch {}, where each node held other records than now: go on with as "
                  "many nodes, ranks on each and files as before, or from a checkpoint at the end of an epoch",
                  progress.epoch + 1));
}

void WriteProgress(const std::filesystem::path& file, const Progress& progress, const Course& course) {
  std::ofstream stream(file);
  json values;
  for (const auto& [name, value] : course) values[name] = value;
  stream << json{{"progress", ToJson(progress)}, {"course", values}}.dump(2) << '\n';
  if (!stream.flush()) throw std::runtime_error(fmt::format("cannot write '{}'", file.string()));
}

Progress ReadProgress(const std::filesystem::path& file, const Course& course) try {
  const auto document = ReadDocument(file);
  RequireSameCourse(document.at("course"), course, file);
  return ProgressFromJson(document.at("progress"));
} catch (const json::exception& error) {
  throw std::runtime_error(fmt::format("'{}' is damaged: {}", file.string(), error.what()));
}

}  // namespace trainers
