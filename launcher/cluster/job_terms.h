/// The properties of a job that both the directives of its script and libslurm can express.
#pragma once

#include <string>

namespace slipway::launcher {

/// Empty texts leave the choice to Slurm.
struct JobTerms {
  std::string name;
  std::string comment;  ///< to find a job whose number was lost
  std::string account;
  std::string partition;  ///< or several, with commas
  std::string qos;
  std::string constraint;
  std::string reservation;
  std::string licenses;
  std::string dependency;                        ///< "afterok:12:13"
  bool cancel_on_impossible_dependency = false;  ///< Slurm removes it once `dependency` can never hold
  int nodes = 1;
  bool requeue = true;     ///< by Slurm itself, after preemption or the loss of the batch host
  bool exclusive = false;  ///< no other job on its nodes
  bool no_kill = false;    ///< continues when one of its nodes fails

  bool operator==(const JobTerms&) const = default;
};

}  // namespace slipway::launcher
