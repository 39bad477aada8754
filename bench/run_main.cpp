#include "bench/run_main.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

namespace slipway::bench {

int RunMain(int (*body)(int, char**), int argc, char** argv) try {
  return body(argc, argv);
} catch (const CLI::Error& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 3;
}

}  // namespace slipway::bench
