// A training program whose rank 1 gives up with status 7, by exit() or by an exception, while rank 0 waits for it.
// With `stays` no rank gives up: they add up memory of the CPU. Linked with libslipway and nothing of MPI, so that
// LD_LIBRARY_PATH chooses the MPI.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <stdexcept>
#include <string>

#include "runtime/slipway.hpp"

int main(int argc, char** argv) try {
  slipway::client::Session session;
  const std::string way = argc > 1 ? argv[1] : "";
  if (way == "stays") {
    float ones[1000];
    std::fill(std::begin(ones), std::end(ones), 1.0F);
    session.Allreduce(ones, std::ssize(ones), SLIPWAY_FLOAT32, SLIPWAY_SUM);
    return ones[999] == static_cast<float>(session.size()) ? 0 : 1;
  }
  if (session.rank() == 1) {
    if (way == "exit") {
      std::fputs("gives up\n", stderr);
      std::exit(7);
    }
    throw std::runtime_error("gives up");
  }
  session.Barrier();
  return 0;
} catch (const std::runtime_error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 7;
}
