/// Why a run stands still until something outside of it has changed.
#pragma once

#include <string>

#include "core/words.h"

namespace slipway::ensemble {

/// Stored in run folders as words. kDiskFull: or the quota is used up. kBookHeld: another process has locked the trial
/// book.
enum class PauseCause { kDiskFull, kBookHeld };
/// The meanings are what to do.
WordTable<PauseCause> WordsOf(PauseCause);

struct Pause {
  PauseCause cause = PauseCause::kDiskFull;
  std::string why;  ///< what is full or held, and what does not happen meanwhile
};

}  // namespace slipway::ensemble
