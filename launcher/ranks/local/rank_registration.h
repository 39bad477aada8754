/// Records which ranks have come, and whether they can form one job. Pure.
#pragma once

#include <set>
#include <string>

#include "launcher/ranks/local/mpi_launcher.h"

namespace slipway::launcher {

class RankRegistration {
 public:
  RankRegistration(MpiLauncher launcher, int ranks) : launcher_(std::move(launcher)), ranks_(ranks) {}

  /// Registers a shim that reports to be rank `rank` of `size`. Returns why the ranks cannot form one job, with what to
  /// do; empty while they can.
  std::string Take(int rank, int size);

  int present() const { return static_cast<int>(seen_.size()); }
  bool Complete() const { return present() == ranks_; }

 private:
  std::string Remedy() const;

  MpiLauncher launcher_;
  int ranks_;
  std::set<int> seen_;
};

}  // namespace slipway::launcher
