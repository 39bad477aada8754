/// Two connected sockets.
#pragma once

#include <sys/socket.h>

#include "core/error.h"
#include "core/unique_handle.h"

namespace slipway::launcher {

struct SocketPair {
  UniqueFd ours;
  UniqueFd theirs;
};

/// Errors: SystemError.
inline SocketPair MakeSocketPair() {
  int ends[2];
  CheckErrno(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "cannot create a socket pair");
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace slipway::launcher
