// A training program whose rank 1 gives up with status 7, by exit() or by an exception, while rank 0 waits for it.
// Linked with libslipway and nothing of MPI, so that LD_LIBRARY_PATH chooses the MPI.

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "runtime/slipway.hpp"

int main(int argc, char** argv) try {
  slipway::client::Session session;
  if (session.rank() == 1) {
    if (argc > 1 && std::string(argv[1]) == "exit") {
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
