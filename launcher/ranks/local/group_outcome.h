/// How the ranks of one job ended, and the outcome of the job. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/process.h"
#include "launcher/ranks/shim/protocol.h"

namespace slipway::launcher {

struct RankOutcome {
  int rank = 0;
  std::int64_t pid = 0;  ///< of the program; 0 when it never started
  std::string host;
  std::optional<ExitStatus> status;  ///< as the shim reported it; nothing when the shim itself was killed
  std::optional<int> asked = {};     ///< its shim ended it: after this signal from outside, or 0: by our order
  int start_error = 0;               ///< errno when the program could not be executed
  std::string interpreter = {};      ///< of the script that could not be executed, where it is what is missing
  bool ended_first = false;          ///< the first rank that failed, before any was ended
  int node = 0;                      ///< of the allocation
  std::string node_trouble;          ///< why its node is lost; empty while it is not
};

struct GroupOutcome {
  std::vector<RankOutcome> ranks;
  std::optional<int> culprit;  ///< the rank that failed first, or the one that left early
  std::string program;         ///< that the ranks were to run
  ExitStatus status;           ///< of the job: the culprit's, or the launcher's when one left early, else success
  bool requeue = false;        ///< the culprit asked for it with exit status 75
  bool stopped = false;        ///< we ended it
  std::optional<int> lost_node = {};  ///< whose loss was the first failure
  bool started = false;               ///< the programs ran: all ranks had come
  std::string detail;                 ///< one line for people; empty after success
  std::string last_line = {};         ///< of the culprit's log, once the attempt has read it; empty: no output
};

/// The culprit; null after success, and when no rank is to blame.
const RankOutcome* CulpritOf(const GroupOutcome& outcome);

inline constexpr int kRequeueStatus = shim::kTryAgain;

/// A rank that ended with status 0 by itself, where the failure of `failed` is that the MPI launcher ended it: Open MPI
/// by a signal to its shim, MPICH by SIGKILL. Then the launcher ended the job for the rank that left: most likely that
/// one did not call MPI_Finalize. Null where there is none. `launcher`: how it ended; a success while it still runs.
const RankOutcome* LeftEarly(const std::vector<RankOutcome>& ranks, const RankOutcome& failed, ExitStatus launcher);
std::string DescribeLeft(int rank, const std::string& host);

/// "rank 1 on n1 ended with signal 9 (SIGKILL)".
std::string Describe(const RankOutcome& rank, const std::string& program);

/// The facts from which Conclude makes the outcome of a job.
struct GroupEnd {
  std::vector<RankOutcome> ranks;
  int expected_ranks = 1;
  bool stopped = false;
  bool started = true;
  std::string program;  ///< for messages
  std::string trouble;  ///< why the group could not run as requested, or empty
  ExitStatus launcher;  ///< of mpirun, or of the shim itself
};
GroupOutcome Conclude(GroupEnd end);

}  // namespace slipway::launcher
