/// What searches of peers gave: they cost minutes and do not change.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "bench/samplers/search_run.h"
#include "core/json.h"

namespace slipway::bench {

class PeerCache {
 public:
  /// An empty path keeps nothing. Results of another version of the peer than `version` are dropped; an empty version
  /// (the peer is not installed) takes what is there.
  /// Errors: Error(kEnvironment) when the file is not one of ours.
  PeerCache(std::filesystem::path path, std::string version);

  /// The version of the peer that made these results.
  const std::string& version() const { return version_; }
  /// Only with all marks of the task.
  std::optional<Outcome> Find(const TestFunction& function, const Task& task) const;
  void Keep(const TestFunction& function, const Task& task, const Outcome& outcome);
  void Save() const;

 private:
  std::filesystem::path path_;
  std::string version_;
  std::map<std::string, Outcome> outcomes_;
};

}  // namespace slipway::bench
