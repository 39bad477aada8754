/// Waits while Slurm takes no more jobs.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "core/clock.h"
#include "core/units.h"
#include "launcher/cluster/slurm_trouble.h"
#include "launcher/run/batch/batch_wait.h"

namespace slipway::launcher {

struct Patience {
  std::optional<Seconds> longest = {};  ///< between two jobs that Slurm takes; none: as long as it takes
  Pause pause = SleepOn;                ///< false: the user does not want to wait
  std::function<void(const std::string& line)> say = [](const std::string&) {};
};

class JobRoom {
 public:
  explicit JobRoom(Patience patience) : patience_(std::move(patience)) {}

  /// Slurm has refused a job. Waits before the next try, or until `is_over`; at the first refusal says what is waited
  /// for. `so_far`: "3 of 8 jobs are submitted". False when the time is up.
  /// Errors: Error(kInterrupted), with `so_far`, when the user does not want to wait.
  bool Await(const SlurmError& refusal, const std::string& so_far, const std::function<bool()>& is_over);
  /// Slurm has taken a job.
  void Taken() { refusals_ = 0; }
  /// Whether time has passed, in which jobs may have ended.
  bool has_waited() const { return has_waited_; }

 private:
  Patience patience_;
  int refusals_ = 0;
  bool has_waited_ = false;
  SteadyTime first_{};  ///< refusal since a job was taken
};

}  // namespace slipway::launcher
