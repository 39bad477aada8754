/// A folder for a benchmark, removed at its end.
#pragma once

#include <filesystem>

namespace slipway::bench {

class BenchFolder {
 public:
  /// In TMPDIR, else in /var/tmp: /tmp may live in memory, where being durable costs nothing.
  BenchFolder();
  BenchFolder(const BenchFolder&) = delete;
  BenchFolder& operator=(const BenchFolder&) = delete;
  ~BenchFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace slipway::bench
