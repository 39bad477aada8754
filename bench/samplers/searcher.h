/// A searcher: a sampler of Slipway in this process, or one of a peer in its own process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ensemble/model/records.h"
#include "ensemble/space/space.h"

namespace slipway::bench {

/// The input of one search.
struct Task {
  std::string sampler;
  ensemble::SearchSpace space;
  std::uint64_t seed = 1;
  int evaluations = 200;
  int parallel = 1;
};

struct Asked {
  ensemble::Point point;
  double wall_s = 0;  ///< time of the ask
  double cpu_s = 0;
};

/// Minimizes. Trials are numbered 0, 1, ... in the order of the asks.
class Searcher {
 public:
  virtual ~Searcher() = default;
  virtual Asked Ask() = 0;
  virtual void Tell(ensemble::TrialNumber trial, double value) = 0;
};

/// A sampler by the name that a spec gives it, with all trials in memory.
/// Errors: Error(kUsage) for an unknown name.
std::unique_ptr<Searcher> MakeOwnSearcher(const Task& task);

}  // namespace slipway::bench
