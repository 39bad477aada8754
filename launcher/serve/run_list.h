/// The list of all runs, which is asked for again and again.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/json.h"
#include "launcher/run/batch/batch_observation.h"
#include "launcher/view/file_stamp.h"
#include "launcher/view/run_view.h"

namespace slipway::launcher {

/// Remembers each run until its files change. For one thread at a time.
///
/// Cost: the first time two small files of each run. Then two stats of each run, and for a run that goes on its state.
/// What a list shows beyond the state is read within `kPatience`; the rest of it comes with the next lists.
class RunList {
 public:
  static constexpr auto kPatience = std::chrono::milliseconds(50);

  explicit RunList(RunsDirectory directory, Clock& clock = SystemClock());
  ~RunList();

  /// `slipway.run-list/1`, oldest run first. "complete": false: something is not read yet, ask again.
  /// Errors: those of ListRuns.
  Json Read();

  /// For tests: how often the state of a run was read.
  std::uint64_t states_read() const { return states_read_; }

 private:
  struct Entry;
  void Adopt(const std::vector<RunFolder>& folders);
  void ReadStates();
  static void Take(RunRow run, SteadyTime now, Entry& entry);
  bool ReadMore();

  RunsDirectory directory_;
  Clock& clock_;
  std::vector<std::unique_ptr<Entry>> entries_;  ///< in the order of ListRuns
  std::uint64_t states_read_ = 0;
};

}  // namespace slipway::launcher
