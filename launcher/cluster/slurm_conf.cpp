#include "launcher/cluster/slurm_conf.h"

#include "core/files.h"
#include "core/shell.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

namespace {

constexpr const char* kPlaces[] = {"etc/slurm/slurm.conf", "etc/slurm-llnl/slurm.conf", "usr/local/etc/slurm.conf",
                                   "run/slurm/conf/slurm.conf"};

/// PREFIX/etc/slurm.conf of PREFIX/bin/sbatch.
std::optional<fs::path> BesideSbatch(const fs::path& root) {
  const auto sbatch = FindProgram("sbatch");
  if (!sbatch) return {};
  const auto conf = root / sbatch->parent_path().parent_path().relative_path() / "etc" / "slurm.conf";
  return Exists(conf) ? std::optional(conf) : std::nullopt;
}

}  // namespace

std::optional<fs::path> FindSlurmConf(const Environment& environment, const fs::path& root) {
  if (const auto named = environment.Get("SLURM_CONF"); named && !named->empty()) return fs::path(*named);
  for (const auto* const place : kPlaces) {
    if (Exists(root / place)) return root / place;
  }
  return BesideSbatch(root);
}

}  // namespace slipway::launcher
