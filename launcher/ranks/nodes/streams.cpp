#include "launcher/ranks/nodes/streams.h"

#include <sys/socket.h>

#include <cerrno>

namespace slipway::launcher {
namespace {

/// Until a socket is looked at again that is to be closed and has not taken everything.
constexpr auto kClosingPause = std::chrono::milliseconds(5);

}  // namespace

void Streams::Add(std::uint32_t stream, UniqueFd socket) {
  const int fd = socket.get();
  streams_[stream] = std::make_unique<Stream>(loop_, std::move(socket));
  loop_.OnReadable(fd, [this, stream] { Pump(stream); });
}

void Streams::Pump(std::uint32_t stream) {
  char buffer[65536];
  const ssize_t count = ::recv(streams_.at(stream)->socket.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count > 0) return send_(NodeFrame::kData, stream, {buffer, static_cast<std::size_t>(count)});
  Remove(stream);
  send_(NodeFrame::kClose, stream, {});
}

void Streams::TakeData(std::uint32_t stream, std::string_view bytes) {
  if (const auto found = streams_.find(stream); found != streams_.end()) found->second->outgoing.Send(bytes);
}

void Streams::TakeClose(std::uint32_t stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  if (found->second->outgoing.waiting() == 0) return Remove(stream);
  closing_[stream] = loop_.After(kClosingPause, [this, stream] { TakeClose(stream); });
}

void Streams::Remove(std::uint32_t stream) {
  if (const auto timer = closing_.extract(stream)) loop_.Cancel(timer.mapped());
  const auto found = streams_.find(stream);
  loop_.Forget(found->second->socket.get());
  streams_.erase(found);
}

void Streams::CloseAll() {
  while (!streams_.empty()) Remove(streams_.begin()->first);
}

}  // namespace slipway::launcher
