/// Sees what the ranks of a job do on this node, also when all of them are stuck, and tells the manager on request.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/event_loop.h"
#include "core/json.h"
#include "core/message_channel.h"
#include "launcher/engines/local/door.h"
#include "runtime/watch/hand_over.h"
#include "runtime/watch/sight.h"

namespace slipway::launcher {

/// Not movable: the event loop holds its address. All calls from the loop's thread. Costs the ranks nothing: it reads
/// what they write for each other.
class BoardKeeper {
 public:
  /// Ranks hand their boards in at the socket `path`; `manager`: a stream, see watch_protocol.h.
  BoardKeeper(EventLoop& loop, const std::filesystem::path& path, UniqueFd manager);
  BoardKeeper(const BoardKeeper&) = delete;
  BoardKeeper& operator=(const BoardKeeper&) = delete;
  ~BoardKeeper();

  /// The manager needs it no longer.
  bool over() const { return over_; }

 private:
  void Welcome(UniqueFd visitor);
  void Take(int visitor);
  void Hear(std::string_view word, const Json& about);
  void Beat();
  std::vector<runtime::Sight> Look() const;

  EventLoop& loop_;
  std::string host_;
  Door door_;
  MessageChannel manager_;
  std::vector<UniqueFd> visitors_;  ///< that have said nothing yet
  std::vector<runtime::HandedBoard> boards_;
  EventLoop::TimerId beat_;
  bool over_ = false;
};

}  // namespace slipway::launcher
