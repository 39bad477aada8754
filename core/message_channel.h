/// Messages over a stream socket: lines of a word, a space and a JSON object.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "core/event_loop.h"
#include "core/json.h"
#include "core/lines.h"
#include "core/unique_handle.h"

namespace slipway {

// Bytes sent over a socket without waiting for the reader.

/// Sends what the socket takes at once and keeps the rest. The rest is sent as soon as the socket takes more. Not
/// movable: the event loop holds its address. All calls from the loop's thread.
class OutgoingBytes {
 public:
  /// `socket`: a connected stream socket, blocking or not; must outlive this object.
  OutgoingBytes(EventLoop& loop, int socket) : loop_(loop), socket_(socket) {}
  OutgoingBytes(const OutgoingBytes&) = delete;
  OutgoingBytes& operator=(const OutgoingBytes&) = delete;
  ~OutgoingBytes() { StopWaiting(); }

  /// False when the other side is gone; unsent bytes are then dropped.
  bool Send(std::string_view bytes);
  /// What has not been sent yet.
  std::size_t waiting() const { return unsent_.size(); }

 private:
  void Flush();
  void AwaitWritable();
  void StopWaiting();

  EventLoop& loop_;
  int socket_;
  std::string unsent_;
  bool gone_ = false;
  UniqueFd writable_;  ///< readable when the socket takes more; there while something waits
};

/// Not movable: the event loop holds its address. All calls from the loop's thread; it must not be destroyed in its own
/// callbacks.
class MessageChannel {
 public:
  /// A longer line is not a message.
  static constexpr std::size_t kLongestMessage = std::size_t{16} << 20;

  struct Events {
    std::function<void(std::string_view word, const Json& about)> heard;
    /// Called once: the other side is gone, or sent something that is not a message.
    std::function<void()> ended;
  };

  MessageChannel(EventLoop& loop, UniqueFd socket, Events events);
  MessageChannel(const MessageChannel&) = delete;
  MessageChannel& operator=(const MessageChannel&) = delete;
  ~MessageChannel();

  /// Nothing is sent when the other side is gone.
  void Say(std::string_view word, const Json& about);
  /// All messages have been given to the socket.
  bool flushed() const { return outgoing_.waiting() == 0; }

 private:
  void Receive();
  /// False when it is no message.
  bool TakeLine(std::string_view line);
  void End();

  EventLoop& loop_;
  UniqueFd socket_;
  OutgoingBytes outgoing_;
  Events events_;
  LineBuffer unread_{kLongestMessage};
  bool over_ = false;
};

}  // namespace slipway
