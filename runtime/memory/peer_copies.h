/// Copies between this process and others by the kernel, which needs no memory that both map.
#pragma once

#include <cstddef>
#include <cstdint>

namespace slipway::runtime {

/// A place in the memory of another process.
struct PeerAddress {
  std::int64_t process = 0;
  std::uint64_t address = 0;
};

/// False when not all could be copied: the rules for ptrace forbid it, the process is gone, or there is no such memory.
/// Source: process_vm_readv(2), process_vm_writev(2); Linux allows it where PTRACE_MODE_ATTACH_REALCREDS does.
bool ReadFromPeer(PeerAddress from, void* to, std::size_t bytes);
bool WriteToPeer(const void* from, PeerAddress to, std::size_t bytes);

}  // namespace slipway::runtime
