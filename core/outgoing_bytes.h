/// Bytes on their way out of a socket, without waiting for whoever reads them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/event_loop.h"
#include "core/unique_handle.h"

namespace slipway {

/// Sends what the socket takes at once, keeps the rest, and sends that as soon as the socket takes more. Not movable:
/// the event loop holds its address. All calls from the loop's thread.
class OutgoingBytes {
 public:
  /// `socket`: a connected stream socket, blocking or not; must outlive this object.
  OutgoingBytes(EventLoop& loop, int socket) : loop_(loop), socket_(socket) {}
  OutgoingBytes(const OutgoingBytes&) = delete;
  OutgoingBytes& operator=(const OutgoingBytes&) = delete;
  ~OutgoingBytes() { StopWaiting(); }

  /// False when the other side is gone: what was not sent by then is dropped.
  bool Send(std::string_view bytes);
  /// What has not been sent yet.
  std::size_t waiting() const { return unsent_.size(); }

 private:
  void Flush();
  void AwaitRoom();
  void StopWaiting();

  EventLoop& loop_;
  int socket_;
  std::string unsent_;
  bool gone_ = false;
  UniqueFd room_;  ///< readable when the socket takes more; there while something waits
};

}  // namespace slipway
