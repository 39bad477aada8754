/// Messages over a stream socket: lines of a word, a space and a JSON object.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/event_loop.h"
#include "core/json.h"
#include "core/outgoing_bytes.h"
#include "core/unique_handle.h"

namespace slipway {

/// Not movable: the event loop holds its address. All calls from the loop's thread; it must not be destroyed in its own
/// callbacks.
class MessageChannel {
 public:
  struct Events {
    std::function<void(std::string_view word, const Json& about)> heard;
    /// Once: the other side is gone, or says what is no message.
    std::function<void()> ended;
  };

  MessageChannel(EventLoop& loop, UniqueFd socket, Events events);
  MessageChannel(const MessageChannel&) = delete;
  MessageChannel& operator=(const MessageChannel&) = delete;
  ~MessageChannel();

  /// Nothing is sent when the other side is gone.
  void Say(std::string_view word, const Json& about);
  /// Everything that was said is on its way.
  bool flushed() const { return outgoing_.waiting() == 0; }

 private:
  void Receive();
  void TakeLines();
  /// False when it is no message.
  bool TakeLine(std::string_view line);
  void End();

  EventLoop& loop_;
  UniqueFd socket_;
  OutgoingBytes outgoing_;
  Events events_;
  std::string unread_;
  bool over_ = false;
};

}  // namespace slipway
