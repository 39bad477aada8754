#include "core/share_out.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace slipway {

std::size_t UsableProcessors() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<std::size_t>(std::max(1, CPU_COUNT(&set)));
  return std::max(1u, std::thread::hardware_concurrency());  // more than 1024 processors
}

void ShareOut(std::size_t count, std::size_t threads, std::atomic<bool>& stopped,
              const std::function<Worker()>& make_worker) {
  std::atomic<std::size_t> next{0};
  std::once_flag once;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      const auto worker = make_worker();
      for (auto item = next++; item < count && !stopped; item = next++) worker(item);
    } catch (...) {
      std::call_once(once, [&] { failure = std::current_exception(); });
      stopped = true;
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (std::size_t i = 0; i < std::min(threads, count); ++i) others.emplace_back(work);
    } catch (const std::system_error&) {  // a limit on threads: fewer do it, too
      if (others.empty()) work();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace slipway
