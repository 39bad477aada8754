/// Which rank holds a job over several nodes up: the status tables of all nodes, seen together.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/event_loop.h"
#include "core/json.h"
#include "core/message_channel.h"
#include "core/unique_handle.h"
#include "runtime/watch/job_view.h"

namespace slipway::launcher {

class Nodes;

/// A node as the watch of a job needs it.
struct WatchedNode {
  UniqueFd monitor;  ///< a stream to its NodeMonitor
  std::string name;  ///< for ranks that have not been seen
  int ranks = 1;     ///< ranks are numbered node by node
};

/// Nothing is asked of the nodes before a rank there has waited for `stall_after`. Of a rank that returns early the
/// other nodes are told at once, so that those who wait for it need not wait so long. Not movable: the event loop holds
/// its address. All calls from the loop's thread.
class StallWatch {
 public:
  /// `found`: once; with the members kind, message and ranks of watch.json. The ranks have been told by then.
  StallWatch(EventLoop& loop, std::vector<WatchedNode> nodes, std::function<void(const Json& report)> found);
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;
  ~StallWatch();

 private:
  struct Node;

  static bool IsOf(const Node& node, int rank);
  void Hear(Node& node, std::string_view word, const Json& about);
  void Look();
  void TakeSeen(Node& node, const Json& about);
  void PassOnDepartures(const Node& from, const Json& about);
  bool AllSeen() const;
  void Judge();
  void Answer(const runtime::JobView& view, const runtime::Waiting& waiting, const std::vector<int>& culprits);
  std::vector<runtime::RankStatus> RankStatuses() const;
  void StopTimer();

  EventLoop& loop_;
  std::function<void(const Json&)> found_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::optional<EventLoop::TimerId> timer_;  ///< the end of this look, or the beginning of the next
  int look_ = 0;
  bool looking_ = false;
  bool over_ = false;
  std::size_t departures_ = 0;  ///< ranks of which the nodes were told
  std::string suspicion_;       ///< what the last look has found, in a form that two looks can be compared by
};

/// Of all ranks that ask, the one whose call most of them are in; nothing when none asks. Pure.
std::optional<runtime::Waiting> SpeakerOf(const std::vector<runtime::RankStatus>& statuses);

}  // namespace slipway::launcher
