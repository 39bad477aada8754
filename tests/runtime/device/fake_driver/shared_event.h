#pragma once

#include <cstdint>
#include <memory>

#include "core/unique_handle.h"
#include "tests/runtime/device/fake_driver/driver_types.h"

namespace slipway::fake_gpu {

/// What the processes of a node know of an event: its records, which have numbers from 1, and how far they are.
class SharedEvent {
 public:
  /// Errors: Refusal kOutOfMemory.
  static std::shared_ptr<SharedEvent> Create();
  /// Errors: Refusal kInvalidContext for one of this process; kInvalidHandle when the exporting one, or its event, is
  /// gone.
  static std::shared_ptr<SharedEvent> Open(const IpcHandle& handle);
  SharedEvent(const SharedEvent&) = delete;
  SharedEvent& operator=(const SharedEvent&) = delete;
  ~SharedEvent();

  IpcHandle Export() const;
  bool imported() const { return imported_; }
  /// Whether another process has it open.
  bool OpenElsewhere() const;

  /// Begins a record. Returns its number.
  std::uint64_t Record();
  std::uint64_t last() const;
  /// The work before this record has run.
  void Reach(std::uint64_t record);
  bool Reached(std::uint64_t record) const;
  /// A process waits for it.
  void Want(std::uint64_t record);
  bool Wanted(std::uint64_t record) const;

 private:
  struct Page;
  SharedEvent(UniqueFd file, bool imported);

  UniqueFd file_;
  bool imported_;
  Page* page_ = nullptr;
};

}  // namespace slipway::fake_gpu
