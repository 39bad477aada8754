#include "bench/samplers/peer_cache.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/fnv1a.h"
#include "ensemble/search/cube/free_points.h"

namespace slipway::bench {
namespace {

constexpr const char* kSchema = "slipway.bench.samplers.peers/1";

/// A changed function has another one.
std::uint64_t Fingerprint(const TestFunction& function) {
  std::string text = function.space;
  const auto space = function.Space();
  for (std::uint32_t draw = 0; draw < 8; ++draw) {
    text += fmt::format(" {:.9g}", function.Measured(RandomPoint(space, 1, 0, draw), 1, draw));
  }
  return Fnv1a64(text);
}

std::string Key(const TestFunction& function, const Task& task) {
  return fmt::format("{} {:016x} {} seed {} parallel {}", function.name, Fingerprint(function), task.sampler, task.seed,
                     task.parallel);
}

}  // namespace

PeerCache::PeerCache(std::filesystem::path path, std::string version)
    : path_(std::move(path)), version_(std::move(version)) {
  const auto text = path_.empty() ? std::nullopt : ReadFileIfPresent(path_);
  if (!text) return;
  const auto document = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object() || document.value("schema", "") != kSchema) {
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' does not hold results of peers", path_.string()),
                "name another file, or remove this one");
  }
  const auto stored = document.value("optuna", "");
  if (version_.empty()) version_ = stored;
  if (stored != version_) return;
  for (const auto& [key, outcome] : document.at("outcomes").items()) outcomes_[key] = OutcomeFromJson(outcome);
}

std::optional<Outcome> PeerCache::Find(const TestFunction& function, const Task& task) const {
  const auto found = outcomes_.find(Key(function, task));
  if (found == outcomes_.end()) return std::nullopt;
  for (const int mark : Marks(task.evaluations)) {
    if (!found->second.regret.contains(mark)) return std::nullopt;
  }
  return found->second;
}

void PeerCache::Keep(const TestFunction& function, const Task& task, const Outcome& outcome) {
  outcomes_[Key(function, task)] = outcome;
}

void PeerCache::Save() const {
  if (path_.empty()) return;
  Json document{{"schema", kSchema}, {"optuna", version_}, {"outcomes", Json::object()}};
  for (const auto& [key, outcome] : outcomes_) document["outcomes"][key] = ToJson(outcome);
  WriteFileAtomically(path_, document.dump(1) + "\n");
}

}  // namespace slipway::bench
