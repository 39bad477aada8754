/// Events of GPUs that the ranks of a node have in common.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/device/stream.h"
#include "runtime/group/communicator.h"

namespace slipway::runtime {

/// As many events of each rank, which all ranks can wait for.
///
/// An event that another process may still have open must not be destroyed: this rank's are kept, and used again.
///
/// Errors of members: DeviceError.
class SharedEvents {
 public:
  /// Null on all ranks where one of them cannot have or open them. Collective.
  ///
  /// Source: CUDA Driver API, "cuIpcGetEventHandle", "cuIpcOpenEventHandle".
  static std::unique_ptr<SharedEvents> Share(const DevicePlace& place, std::size_t count, Communicator& ranks);
  SharedEvents(const SharedEvents&) = delete;
  SharedEvents& operator=(const SharedEvents&) = delete;
  ~SharedEvents();

  std::size_t ranks() const { return others_.size() + 1; }
  /// This rank's.
  DeviceEvent& Own(std::size_t event) { return own_[event]; }
  /// That of rank `rank`.
  const DeviceEvent& Of(std::size_t rank, std::size_t event) const;
  /// Later work of `stream` waits for all ranks' `event`. They have been recorded.
  void HoldBack(std::size_t event, StreamHandle stream) const;

 private:
  SharedEvents(const DevicePlace& place, std::size_t rank) : place_(place), rank_(rank) {}
  std::vector<IpcHandle> TakeOwn(std::size_t count);
  bool Open(const std::vector<char>& of_all, std::size_t count);

  DevicePlace place_;
  std::size_t rank_;
  std::vector<DeviceEvent> own_;
  std::vector<std::vector<DeviceEvent>> others_;  ///< by rank, without this one
};

}  // namespace slipway::runtime
