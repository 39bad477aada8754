#pragma once

#include <vector>

#include "tests/runtime/device/fake_driver/operation.h"

namespace slipway::fake_gpu {

/// Finds operations that touch the same bytes in no order. It compares what precedes what, not when work ran: a race is
/// found under every order of execution.
class AccessLog {
 public:
  explicit AccessLog(Ledger& ledger) : ledger_(ledger) {}

  /// All accesses of an operation that was just queued.
  void Add(const OperationPtr& operation);
  /// One more access, of a kernel at work.
  void Add(const OperationPtr& operation, const Access& access);
  /// An operation that touches what the host is about to touch, and that is not in `known`, what the host knows to be
  /// done; null: none.
  OperationPtr InTheWayOfHost(const Access& access, const Clock& known) const;
  /// Drops accesses that precede everything to come: the host knows their end, and `pending` operations follow them.
  void Prune(const Clock& known, const Operations& pending);
  bool empty() const { return entries_.empty(); }
  void Clear() { entries_.clear(); }

 private:
  struct Entry {
    OperationPtr operation;
    Access access;
  };

  Ledger& ledger_;
  std::vector<Entry> entries_;
};

}  // namespace slipway::fake_gpu
