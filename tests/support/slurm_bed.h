/// A real Slurm of several nodes for a test, from tests/slurm/testbed; it ends with this process at the latest.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/environment.h"

namespace slipway::test {

class SlurmBed {
 public:
  /// Why no bed can be had on this machine; empty when one can.
  static std::string WhyNot(const std::vector<std::string>& options = {});

  /// Options of `testbed up`. Below a second until its nodes are idle. Throws std::runtime_error.
  explicit SlurmBed(const std::vector<std::string>& options = {});
  SlurmBed(const SlurmBed&) = delete;
  SlurmBed& operator=(const SlurmBed&) = delete;
  ~SlurmBed();

  /// Of its clients.
  const Environment& environment() const { return environment_; }
  /// A folder that all nodes see.
  std::filesystem::path shared() const;
  /// "kill slurmctld", "freeze munge", ... in words.
  void Order(const std::vector<std::string>& words) const;
  /// Runs a client of Slurm to its end; its output.
  std::string Client(const std::vector<std::string>& words) const;

 private:
  Environment environment_;
};

}  // namespace slipway::test
