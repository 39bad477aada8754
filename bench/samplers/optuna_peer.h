/// Optuna's samplers, each search in the same process of the system's Python.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/samplers/searcher.h"

namespace slipway::bench {

/// "optuna-tpe", which is its default, and the others; what the script optuna_peer.py knows.
const std::vector<std::string>& PeerNames();
bool IsPeer(const std::string& sampler);

class PeerPipe;

/// The process; one search at a time.
class OptunaPeer {
 public:
  /// Nothing when Python or Optuna is not installed.
  static std::optional<OptunaPeer> Start();
  OptunaPeer(OptunaPeer&&) noexcept;
  OptunaPeer& operator=(OptunaPeer&&) noexcept;
  ~OptunaPeer();

  const std::string& version() const;
  /// The peer must outlive the search. Errors: Error(kEnvironment) when the process ends.
  std::unique_ptr<Searcher> Search(const Task& task);

 private:
  OptunaPeer(std::unique_ptr<PeerPipe> pipe, std::string version);

  std::unique_ptr<PeerPipe> pipe_;
  std::string version_;
};

}  // namespace slipway::bench
