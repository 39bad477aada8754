#include "trainers/common/progress.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace trainers {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json ToJson(const Progress& progress) {
  const auto& train = progress.train;
  json document = {{"epoch", progress.epoch},
                   {"step_in_epoch", progress.step_in_epoch},
                   {"step", progress.step},
                   {"shares", progress.shares},
                   {"train", {{"loss", train.loss}, {"measures", train.measures}, {"records", train.records}}}};
  if (progress.average_updates) document["average_updates"] = *progress.average_updates;
  if (const auto& scale = progress.loss_scale) {
    document["loss_scale"] = {{"factor", scale->factor}, {"steps", scale->steps}};
  }
  return document;
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
  if (document.contains("average_updates")) progress.average_updates = Count(document, "average_updates");
  if (const auto scale = document.find("loss_scale"); scale != document.end()) {
    progress.loss_scale = {scale->at("factor").get<double>(), Count(*scale, "steps")};
  }
  return progress;
}

/// What a checkpoint was made with that is older than the name, and says nothing of it.
std::string UsualValueOf(const std::string& name) {
  if (name == "data.train.seed") return "0";
  if (name == "data.train.remainder") return "drop";
  return "none";
}

/// Text in a document of unknown origin.
std::string TextOf(const json& document, const std::string& name) {
  const auto found = document.is_object() ? document.find(name) : document.end();
  return found != document.end() && found->is_string() ? found->get<std::string>() : UsualValueOf(name);
}

/// `author`: who wrote it, as far as that is known.
[[noreturn]] void RefuseForeign(const fs::path& checkpoint, const std::string& author, const std::string& us) {
  throw std::runtime_error(
      fmt::format("the checkpoint '{}' is another program's: it was written by {}, this is {}: go on with the program "
                  "that wrote it, or start afresh",
                  checkpoint.string(), author, us));
}

/// For a checkpoint that does not say who wrote it.
std::string WriterOf(const fs::path& checkpoint) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(checkpoint)) {
    if (const auto name = entry.path().filename(); name != "manifest.json") names.push_back(name.string());
  }
  std::ranges::sort(names);
  return fmt::format("one that leaves {}", fmt::join(names, ", "));
}

void RequireSameCourse(const json& saved, const Course& course, const fs::path& checkpoint) {
  for (const auto& [name, value] : course) {
    const auto before = TextOf(saved, name);
    if (before == value) continue;
    if (name == "trainer") RefuseForeign(checkpoint, before == "none" ? WriterOf(checkpoint) : before, value);
    throw std::runtime_error(
        fmt::format("the checkpoint '{}' was made with {} {}, now it is {}: give the same value, or start afresh",
                    checkpoint.string(), name, before, value));
  }
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
  const auto checkpoint = file.parent_path();
  if (!fs::exists(file)) RefuseForeign(checkpoint, WriterOf(checkpoint), course.front().second);
  std::ifstream stream(file);
  if (!stream) throw std::runtime_error(fmt::format("cannot read '{}'", file.string()));
  const auto document = json::parse(stream);
  RequireSameCourse(document.is_object() && document.contains("course") ? document["course"] : json(), course,
                    checkpoint);
  return ProgressFromJson(document.at("progress"));
} catch (const json::exception& error) {
  throw std::runtime_error(fmt::format("'{}' is damaged: {}", file.string(), error.what()));
}

}  // namespace trainers
