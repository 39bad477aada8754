#include "ensemble/model/pause.h"

namespace slipway::ensemble {

WordTable<PauseCause> WordsOf(PauseCause) {
  static constexpr Word<PauseCause> kWords[] = {
      {PauseCause::kDiskFull, "disk_full", "free space there, and it goes on by itself"},
      {PauseCause::kBookHeld, "book_held", "end the process that holds it, or wait: it goes on by itself"}};
  return kWords;
}

}  // namespace slipway::ensemble
