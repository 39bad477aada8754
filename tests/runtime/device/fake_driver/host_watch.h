#pragma once

#include "tests/runtime/device/fake_driver/operation.h"

namespace slipway::fake_gpu {

/// Finds a host that touches a buffer while a copy from or to it is queued. The destination of a copy is poisoned as
/// soon as no earlier queued work may touch it; the source is hashed at the call where no earlier queued work may write
/// it.
class HostWatch {
 public:
  explicit HostWatch(Ledger& ledger) : ledger_(ledger) {}

  /// `pending`: the operations that have not run.
  void Queue(Operation& operation, const Operations& pending);
  /// Poisons destinations that could not be poisoned before. For each change of `pending`.
  void Review(const Operations& pending);
  /// Just before the copy: a violation where the host has touched the buffer.
  void Check(const Operation& operation);

 private:
  Ledger& ledger_;
};

}  // namespace slipway::fake_gpu
