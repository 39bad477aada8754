#include "runtime/stop/stop_file.h"

#include <unistd.h>

namespace slipway::runtime {

bool StopFile::Look() {
  const auto now = SystemClock().Steady();
  if (seen_ || path_.empty() || now < next_look_) return seen_;
  next_look_ = now + std::chrono::milliseconds(50);
  seen_ = ::access(path_.c_str(), F_OK) == 0;
  return seen_;
}

bool StopFile::Requested(Communicator& communicator) {
  unsigned char requested = communicator.rank() == 0 && Look() ? 1 : 0;
  communicator.Broadcast(&requested, 1, 0);
  return requested != 0;
}

}  // namespace slipway::runtime
