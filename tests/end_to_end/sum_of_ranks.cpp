// A training program in small: sums the ranks through libslipway, and prints which libslipway that was. Linked with
// nothing of MPI, so that the loader chooses the MPI.

#include <dlfcn.h>

#include <cstdio>
#include <stdexcept>

#include "runtime/slipway.hpp"

int main() try {
  slipway::client::Session session;
  float sum = static_cast<float>(session.rank() + 1);
  if (slipway_allreduce(&sum, 1, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL) != SLIPWAY_OK) {
    throw std::runtime_error(slipway_error_message());
  }
  Dl_info library{};
  ::dladdr(reinterpret_cast<const void*>(&slipway_init), &library);
  std::printf("rank %d of %d: sum %g by %s\n", session.rank(), session.size(), static_cast<double>(sum),
              library.dli_fname);
  return 0;
} catch (const std::runtime_error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
