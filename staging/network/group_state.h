/// What the nodes of a group know of each other: which nodes lack the data, which have published it, and the first
/// failure.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "staging/network/node_group.h"

namespace slipway::staging {

struct GroupFailure {
  std::uint32_t node = 0;  ///< the node with the failure
  ErrorKind kind = ErrorKind::kFailed;
  std::string message;
  std::string next_step;

  bool operator==(const GroupFailure&) const = default;
};

/// As it travels around the ring; texts that are very long are cut.
std::string EncodeFailure(const GroupFailure& failure);
/// Nothing for what EncodeFailure does not return.
std::optional<GroupFailure> DecodeFailure(std::string_view text);

/// Written by the ring's thread as frames arrive; other threads wait for it.
class GroupState {
 public:
  explicit GroupState(const NodeGroup& group);

  // Of a node that is not in the group nothing is noted.
  void NoteLacks(std::uint32_t node, bool lacks);
  void NoteDone(std::uint32_t node);
  /// False when something has failed before: then that counts.
  bool NoteFailure(GroupFailure failure);

  bool IsDone(std::uint32_t node) const;
  bool AllDone() const;
  std::optional<GroupFailure> failure() const;
  bool failed() const { return failure().has_value(); }
  /// Throws what failed: this node's own error, or another's with its name.
  void ThrowIfFailed() const;

  // They call `tick` several times a second and throw what it throws, and what failed.

  /// Which nodes lack the data, once all have reported. Errors: Error(kEnvironment) at the deadline, naming the missing
  /// nodes.
  std::vector<bool> WaitForLacks(SteadyTime deadline, const std::function<void()>& tick);
  void WaitForAllDone(const std::function<void()>& tick);

 private:
  void WaitUntil(const std::function<bool()>& reached, const std::function<void()>& tick);
  std::optional<std::uint32_t> Silent() const;
  bool AllDoneLocked() const;

  const NodeGroup& group_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<bool>> lacks_;
  std::vector<bool> done_;
  std::optional<GroupFailure> failure_;
};

}  // namespace slipway::staging
