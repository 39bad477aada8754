/// A parameter server: each rank serves a shard of the parameters, and is a client of all shards.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/server/shard_server.h"
#include "runtime/watch/watch.h"

namespace slipway::runtime {

struct ServerParts {
  std::string name;
  std::vector<TensorInfo> parameters;  ///< the same list and the same values on every rank
  double rate = 0;
  std::int64_t staleness = 0;
};

/// Errors: RuntimeError: STALLED naming the rank that holds this one up, MPI, MISMATCH; then it cannot be used again.
///
/// Memory: of this rank's shard, one copy and one more for each rank; one copy of the whole.
/// Cost:   a push or a pull moves all parameters once, to or from all servers; one round trip.
class ParameterServer {
 public:
  /// `communicator`: of all ranks, for this server alone; MPI must give MPI_THREAD_MULTIPLE unless the rank is alone.
  ParameterServer(ServerParts parts, std::unique_ptr<Communicator> communicator, Watch& watch);
  ParameterServer(const ParameterServer&) = delete;
  ParameterServer& operator=(const ParameterServer&) = delete;

  /// Returns when all servers have taken the gradients of one step.
  /// Errors: also RuntimeError(ARGUMENT) when they are not of the parameters' names, shapes and dtypes.
  void Push(std::span<const TensorInfo> gradients);
  /// Copies the parameters from the servers to the tensors. Of managed memory, waits for the default stream first.
  void Pull();
  /// For what is pushed from now on. Errors: RuntimeError(ARGUMENT).
  void SetRate(double rate);
  /// Steps that this rank was ahead of the slowest, at its last pull.
  std::int64_t lead() const { return lead_; }

 private:
  /// The message to or from a server, and the block that acknowledges a push or asks for a pull.
  struct Link {
    ShardLayout layout;
    Frame frame;
    Frame small{0};
  };
  static Frame& OutOf(Link& link, Request::Kind kind) { return kind == Request::Kind::kPush ? link.frame : link.small; }
  static Frame& InOf(Link& link, Request::Kind kind) { return kind == Request::Kind::kPush ? link.small : link.frame; }

  void RequireFitting(std::span<const TensorInfo> gradients) const;
  void Ask(Request::Kind kind);
  void AskMyself(Request::Kind kind);
  void Exchange(Request::Kind kind);
  std::vector<int> Missing(std::span<MPI_Request> answers);
  void RequireTaken(const Answer& answer) const;

  ServerParts parts_;
  std::unique_ptr<Communicator> communicator_;
  Watch& watch_;
  std::uint32_t table_number_;
  std::int64_t lead_ = 0;
  std::vector<Link> links_;  ///< by rank
  BlockType block_;
  ShardServer own_;
};

/// Errors: RuntimeError(ARGUMENT) for a rate that is negative or not finite.
void RequireRate(double rate);

}  // namespace slipway::runtime
