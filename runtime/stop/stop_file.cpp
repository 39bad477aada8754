#include "runtime/stop/stop_file.h"

#include <fcntl.h>
#include <unistd.h>

namespace slipway::runtime {

bool StopFile::Look() {
  const auto now = SystemClock().Steady();
  if (seen_ || path_.empty() || now < next_look_) return seen_;
  next_look_ = now + std::chrono::milliseconds(50);
  seen_ = ::access(path_.c_str(), F_OK) == 0;
  if (seen_) NoteSeen();
  return seen_;
}

void StopFile::NoteSeen() const {
  const auto mark = path_.native() + ".seen";
  const int fd = ::open(mark.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
  if (fd >= 0) ::close(fd);
}

bool StopFile::Requested(Communicator& communicator) {
  unsigned char requested = communicator.rank() == 0 && Look() ? 1 : 0;
  communicator.Broadcast(&requested, 1, 0);
  return requested != 0;
}

}  // namespace slipway::runtime
