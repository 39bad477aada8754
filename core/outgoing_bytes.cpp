#include "core/outgoing_bytes.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>

#include "core/error.h"
#include "core/files.h"

namespace slipway {

bool OutgoingBytes::Send(std::string_view bytes) {
  if (gone_) return false;
  unsent_ += bytes;
  Flush();
  return !gone_;
}

void OutgoingBytes::Flush() {
  std::size_t sent = 0;
  while (sent < unsent_.size()) {
    const ssize_t count = ::send(socket_, unsent_.data() + sent, unsent_.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno != EAGAIN) gone_ = true;
    if (count <= 0) break;
    sent += static_cast<std::size_t>(count);
  }
  unsent_.erase(0, gone_ ? unsent_.size() : sent);
  if (unsent_.empty()) return StopWaiting();
  AwaitRoom();
}

/// The loop waits for reading only; an epoll descriptor is readable when what it watches is ready, for writing here.
void OutgoingBytes::AwaitRoom() {
  if (room_) return;
  room_ = UniqueFd(CheckErrno(::epoll_create1(EPOLL_CLOEXEC), "cannot wait for a socket"));
  epoll_event event{};
  event.events = EPOLLOUT;
  CheckErrno(::epoll_ctl(room_.get(), EPOLL_CTL_ADD, socket_, &event), "cannot wait for a socket");
  loop_.OnReadable(room_.get(), [this] { Flush(); });
}

void OutgoingBytes::StopWaiting() {
  if (!room_) return;
  loop_.Forget(room_.get());
  room_.Reset();
}

}  // namespace slipway
