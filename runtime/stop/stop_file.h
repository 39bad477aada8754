/// The stop file: the launcher's request that the program write a checkpoint and end.
#pragma once

#include <filesystem>

#include "core/clock.h"
#include "runtime/group/communicator.h"

namespace slipway::runtime {

class StopFile {
 public:
  explicit StopFile(std::filesystem::path path) : path_(std::move(path)) {}

  /// True on all ranks at the same call. Rank 0 looks for the file, at most every 50 ms; once true it stays true.
  /// Collective.
  bool Requested(Communicator& communicator);

 private:
  bool Look();
  /// Leaves an empty file PATH.seen. The launcher learns from it that a program which ends now was stopped, not done.
  void NoteSeen() const;

  std::filesystem::path path_;
  bool seen_ = false;
  SteadyTime next_look_{};
};

}  // namespace slipway::runtime
