/// An error of the trial book. Its cause may pass: a caller can wait and try again.
#pragma once

#include <string>

#include "core/error.h"
#include "ensemble/model/pause.h"

namespace slipway::ensemble {

/// kHeld: another process has locked the book. kDiskFull: its disk is full, or the quota is used up.
enum class BookTrouble { kHeld, kDiskFull, kOther };

class BookError : public Error {
 public:
  BookError(BookTrouble trouble, ErrorKind kind, std::string message, std::string next_step)
      : Error(kind, std::move(message), std::move(next_step)), trouble_(trouble) {}

  BookTrouble trouble() const { return trouble_; }
  /// The call has changed nothing, and may succeed later.
  bool MayPass() const { return trouble_ != BookTrouble::kOther; }
  /// What a caller waits for, if it MayPass().
  PauseCause pause_cause() const {
    return trouble_ == BookTrouble::kHeld ? PauseCause::kBookHeld : PauseCause::kDiskFull;
  }

 private:
  BookTrouble trouble_;
};

}  // namespace slipway::ensemble
