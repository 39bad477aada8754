// A training program whose rank 1 stops where the others wait for it: what the runtime's watch is for.
#include <signal.h>

#include <cstdio>

#include "runtime/slipway.h"

int main() {
  double value = 1;
  if (slipway_init(nullptr) != 0 || slipway_average(&value, 1) != 0) return 9;
  if (slipway_rank() == 1) ::raise(SIGSTOP);
  if (slipway_average(&value, 1) != 0) {
    std::fprintf(stderr, "%s\n", slipway_error_message());
    return 7;
  }
  return slipway_finalize();
}
