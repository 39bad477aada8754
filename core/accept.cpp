#include "core/accept.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/log.h"

namespace slipway {

UniqueFd AcceptFrom(int listener, int flags) {
  return UniqueFd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | flags));
}

bool NeedsAcceptPause(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }

AcceptWatch::AcceptWatch(EventLoop& loop, int listener, int flags, Arrived arrived)
    : loop_(loop), listener_(listener), flags_(flags), arrived_(std::move(arrived)) {
  Watch();
}

AcceptWatch::~AcceptWatch() {
  if (pause_) loop_.Cancel(*pause_);
  loop_.Forget(listener_);
}

void AcceptWatch::Watch() {
  loop_.OnReadable(listener_, [this] { Accept(); });
}

void AcceptWatch::Accept() {
  auto connection = AcceptFrom(listener_, flags_);
  if (connection) {
    reported_ = false;
    arrived_(std::move(connection));
  } else if (NeedsAcceptPause(errno)) {
    Pause(errno);
  }
}

void AcceptWatch::Pause(int error) {
  if (!reported_) log::Warn("cannot accept a connection yet: {}", std::strerror(error));
  reported_ = true;
  loop_.Forget(listener_);
  pause_ = loop_.After(kAcceptPause, [this] {
    pause_.reset();
    Watch();
  });
}

}  // namespace slipway
