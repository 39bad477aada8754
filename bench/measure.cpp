#include "bench/measure.h"

#include <stdlib.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "core/error.h"
#include "core/processor.h"

namespace slipway::bench {

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

Json DescribeMachine() {
  char name[256] = "?";
  ::gethostname(name, sizeof name - 1);
  return {{"host", name}, {"cores", std::thread::hardware_concurrency()}, {"processor", ProcessorName()}};
}

BenchFolder::BenchFolder() {
  const char* directory = std::getenv("TMPDIR");
  std::string pattern = std::filesystem::path(directory != nullptr ? directory : "/var/tmp") / "slipway-bench-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) ThrowErrno("cannot create a folder for the benchmark");
  path_ = pattern;
}

BenchFolder::~BenchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

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
