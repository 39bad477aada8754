#include "runtime/memory/peer_copies.h"

#include <sys/uio.h>

namespace slipway::runtime {

bool ReadFromPeer(PeerAddress from, void* to, std::size_t bytes) {
  const iovec here{to, bytes};
  const iovec there{reinterpret_cast<void*>(from.address), bytes};
  return ::process_vm_readv(static_cast<pid_t>(from.process), &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

bool WriteToPeer(const void* from, PeerAddress to, std::size_t bytes) {
  const iovec here{const_cast<void*>(from), bytes};
  const iovec there{reinterpret_cast<void*>(to.address), bytes};
  return ::process_vm_writev(static_cast<pid_t>(to.process), &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

}  // namespace slipway::runtime
