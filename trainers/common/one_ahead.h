/// Batches that go to a device, each copied while the program computes with the one before.
#pragma once

#include <exception>
#include <optional>
#include <utility>

namespace trainers {

/// As one_ahead() of slipway.data.device in Python. Errors come in the turn of their batch, as without a device.
///
/// `Copies` has the types Batch and Copy, and two functions:
/// - `Copy Begin(const Batch& batch)` begins to copy. The memory of `batch` stays as it is until End().
/// - `Batch End(Copy& copy)` waits for the copy. It gives the batch on the device, or throws each time.
template <class Copies>
class OneAhead {
 public:
  using Batch = typename Copies::Batch;

  explicit OneAhead(Copies copies) : copies_(std::move(copies)) {}
  OneAhead(const OneAhead&) = delete;
  OneAhead& operator=(const OneAhead&) = delete;
  ~OneAhead() {
    try {
      Drop();
    } catch (...) {  // the device has failed, and copies nothing any more
    }
  }

  /// The next batch on the device; nothing once at the end of each epoch. `source()` gives batches in the memory of the
  /// host in the same way, each valid until the next one is asked for. It is called one batch ahead, but never for the
  /// epoch after. Errors: those of `source` and of the copies, each time until Drop().
  template <class Source>
  std::optional<Batch> Next(const Source& source) {
    if (!is_begun_) BeginNext(source);
    if (error_) std::rethrow_exception(error_);
    if (!copy_) {
      is_begun_ = false;
      return {};
    }
    auto batch = End();  // before `source` may overwrite what is copied from
    BeginNext(source);
    return batch;
  }

  /// Forgets what was copied ahead, before `source` goes elsewhere. Errors: those of the copies.
  void Drop() {
    if (copy_) End();
    error_ = nullptr;
    is_begun_ = false;
  }

 private:
  template <class Source>
  void BeginNext(const Source& source) {
    is_begun_ = true;
    try {
      if (const auto batch = source()) copy_ = copies_.Begin(*batch);
    } catch (...) {
      error_ = std::current_exception();
    }
  }

  Batch End() {
    auto batch = copies_.End(*copy_);
    copy_.reset();
    return batch;
  }

  Copies copies_;
  std::optional<typename Copies::Copy> copy_;  ///< of the batch that is given next
  std::exception_ptr error_;                   ///< instead of that batch
  bool is_begun_ = false;                      ///< the epoch's first batch was taken from the source
};

}  // namespace trainers
