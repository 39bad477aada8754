/// Reads what the ranks of a job do on this node, even when all are stuck, and reports it to the manager.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "core/event_loop.h"
#include "core/json.h"
#include "core/message_channel.h"
#include "launcher/ranks/local/listener.h"
#include "runtime/watch/rank_status.h"
#include "runtime/watch/status_table_transfer.h"

namespace slipway::launcher {

/// Not movable: the event loop holds its address. Call it only from the loop's thread. It costs the ranks nothing: it
/// reads the status table that they write for each other.
class NodeMonitor {
 public:
  /// Ranks send their status tables to the socket `path`. `manager`: a stream, see watch_protocol.h.
  NodeMonitor(EventLoop& loop, const std::filesystem::path& path, UniqueFd manager);
  NodeMonitor(const NodeMonitor&) = delete;
  NodeMonitor& operator=(const NodeMonitor&) = delete;
  ~NodeMonitor();

  /// The manager needs it no longer.
  bool over() const { return over_; }

 private:
  void Welcome(UniqueFd visitor);
  void Take(int visitor);
  void Hear(std::string_view word, const Json& about);
  void Beat();
  std::vector<runtime::RankStatus> Look() const;
  void TellDepartures();

  EventLoop& loop_;
  std::string host_;
  Listener listener_;
  MessageChannel manager_;
  std::vector<UniqueFd> visitors_;  ///< that have sent nothing yet
  std::vector<runtime::ReceivedStatusTable> tables_;
  std::set<int> departed_;  ///< ranks already reported to the manager
  EventLoop::TimerId beat_;
  int beats_ = 0;
  bool over_ = false;
};

}  // namespace slipway::launcher
