/// Finds the rank that stalls a job on several nodes, from the status tables of all nodes.
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

/// A node that the stall watch observes.
struct WatchedNode {
  UniqueFd monitor;  ///< a stream to its NodeMonitor
  std::string name;  ///< for ranks that have not been seen
  int ranks = 1;     ///< ranks are numbered node by node
  /// Others have waited too long for its ranks, and it did not answer in time. Called again while that lasts.
  std::function<void()> on_no_answer = [] {};
};

/// Finds the ranks for which others wait longer than `stall_after`. Before that it sends no request to the nodes. When
/// a rank returns early, it informs the other nodes at once, so ranks that wait for it end sooner. Ranks in
/// slipway_finalize may wait as long as others compute. Not movable: the event loop holds its address. Call it only
/// from the loop's thread.
class StallWatch {
 public:
  /// `found` is called once, with the members kind, message and ranks of watch.json. The ranks have the answer by then.
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
  void TellOfNoAnswer(const std::vector<int>& culprits) const;
  void Answer(const runtime::JobView& view, const runtime::Waiting& waiting, const std::vector<int>& culprits);
  std::vector<runtime::RankStatus> RankStatuses() const;
  void StopTimer();

  EventLoop& loop_;
  std::function<void(const Json&)> found_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::optional<EventLoop::TimerId> timer_;  ///< the end of this look, or the start of the next
  int look_ = 0;
  bool looking_ = false;
  bool over_ = false;
  std::size_t departures_ = 0;  ///< ranks already reported to the nodes
  std::string suspicion_;       ///< the finding of the last look, in a form to compare with the next
};

/// A rank that asks, from the call in which most of the asking ranks are; nothing when none asks. Pure.
std::optional<runtime::Waiting> SpeakerOf(const std::vector<runtime::RankStatus>& statuses);

}  // namespace slipway::launcher
