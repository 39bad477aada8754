/// The streams of a link: each joins a socket here to a socket at the other end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "core/event_loop.h"
#include "core/message_channel.h"
#include "core/unique_handle.h"
#include "launcher/ranks/nodes/protocol.h"

namespace slipway::launcher {

/// Not movable: the event loop holds its address. All calls from the loop's thread.
class Streams {
 public:
  using Send = std::function<void(NodeFrame kind, std::uint32_t stream, std::string_view payload)>;

  Streams(EventLoop& loop, Send send) : loop_(loop), send_(std::move(send)) {}
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  ~Streams() { CloseAll(); }

  /// What comes out of `socket` goes to the other end from now on.
  void Add(std::uint32_t stream, UniqueFd socket);
  /// From the other end. A stream that is not there has just ended here.
  void TakeData(std::uint32_t stream, std::string_view bytes);
  /// The socket is closed as soon as it has taken everything.
  void TakeClose(std::uint32_t stream);
  /// The other end is gone, and hears nothing of it.
  void CloseAll();
  bool empty() const { return streams_.empty(); }

 private:
  struct Stream {
    Stream(EventLoop& loop, UniqueFd fd) : socket(std::move(fd)), outgoing(loop, socket.get()) {}
    UniqueFd socket;
    OutgoingBytes outgoing;
  };

  void Pump(std::uint32_t stream);
  void Remove(std::uint32_t stream);

  EventLoop& loop_;
  Send send_;
  std::map<std::uint32_t, std::unique_ptr<Stream>> streams_;
  std::map<std::uint32_t, EventLoop::TimerId> closing_;
};

}  // namespace slipway::launcher
