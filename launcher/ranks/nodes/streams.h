/// The streams of a link: each connects a socket here to a socket at the other end.
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

/// Not movable: the event loop holds its address. Call it only from the loop's thread.
class Streams {
 public:
  using Send = std::function<void(NodeFrame kind, std::uint32_t stream, std::string_view payload)>;

  Streams(EventLoop& loop, Send send) : loop_(loop), send_(std::move(send)) {}
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  ~Streams() { CloseAll(); }

  /// Sends what arrives from `socket` to the other end from now on.
  void Add(std::uint32_t stream, UniqueFd socket);
  /// Data from the other end. An unknown stream has just ended here.
  void TakeData(std::uint32_t stream, std::string_view bytes);
  /// The other end has closed the stream. The socket is closed once it has taken all data.
  void TakeClose(std::uint32_t stream);
  /// Closes all streams without a message to the other end, which is gone.
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
