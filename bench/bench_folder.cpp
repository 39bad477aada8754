#include "bench/bench_folder.h"

#include <stdlib.h>

#include <cstdlib>
#include <string>

#include "core/error.h"

namespace slipway::bench {

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

}  // namespace slipway::bench
