/// An error of the trial book whose cause a caller may want to wait out.
#pragma once

#include <string>

#include "core/error.h"

namespace slipway::ensemble {

/// kHeld: another process has locked it. kDiskFull: its disk is full, or the quota is used up.
enum class BookTrouble { kHeld, kDiskFull, kOther };

class BookError : public Error {
 public:
  BookError(BookTrouble trouble, ErrorKind kind, std::string message, std::string next_step)
      : Error(kind, std::move(message), std::move(next_step)), trouble_(trouble) {}

  BookTrouble trouble() const { return trouble_; }
  /// What was tried has changed nothing, and may succeed later.
  bool MayPass() const { return trouble_ != BookTrouble::kOther; }

 private:
  BookTrouble trouble_;
};

}  // namespace slipway::ensemble
