#include "launcher/cli/doctor/slurm_reach.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/clock.h"
#include "launcher/cluster/slurm_client.h"
#include "launcher/cluster/slurm_conf.h"

namespace slipway::launcher {
namespace {

std::optional<Captured> TryMunge() {
  if (!FindProgram("munge")) return {};
  SpawnOptions options;
  options.argv = {"munge", "-n"};
  return RunAndCapture(std::move(options), std::chrono::seconds(3));
}

/// "22.05" of "22.05.8": what is compatible among itself.
std::string Release(const std::string& version) { return version.substr(0, version.rfind('.')); }

Finding JudgeController(const SlurmFacts& facts) {
  const auto& cluster = *facts.cluster;
  const auto up = std::count_if(facts.partitions.begin(), facts.partitions.end(),
                                [](const auto& partition) { return partition.state == PartitionState::kUp; });
  const auto text = fmt::format("cluster '{}', Slurm {}, answered in {}; {} of {} partitions up", cluster.name,
                                cluster.controller_version, FormatDuration(facts.took), up, facts.partitions.size());
  if (up > 0) return Ok("slurm", text);
  return Warn("slurm", text + ": jobs wait", "sinfo shows the partitions; ask the site's support");
}

Finding JudgeLibrary(const SlurmCluster& cluster) {
  auto text = cluster.library_version;
  if (Release(text) == Release(cluster.controller_version)) return Ok("libslurm", text);
  return Warn("libslurm", fmt::format("{}, another release than the controller's {}", text, cluster.controller_version),
              "it works as long as the controller takes it; better build Slipway with the cluster's own headers");
}

Finding JudgeMunge(const SlurmFacts& facts) {
  if (facts.cluster) return Ok("munge", "Slurm takes our credentials");
  // Munge is asked first, at the socket that slurm.conf names.
  const bool only_controller = facts.trouble && facts.trouble->trouble == SlurmTrouble::kController;
  if (only_controller) return Ok("munge", "makes credentials for Slurm");
  if (facts.trouble && facts.trouble->trouble == SlurmTrouble::kAuthentication) {
    const SlurmError error(*facts.trouble);
    return Fail("munge", error.message(), error.next_step());
  }
  if (!facts.munge) return Warn("munge", "not installed; only Slurm needs it", "");
  if (facts.munge->status.Success() && !facts.munge->timed_out) return Ok("munge", "makes credentials");
  return Warn("munge", "its daemon does not answer; only Slurm needs it", "start munged, if there is to be Slurm here");
}

/// Without a slurm.conf no answer is expected: that is a warning only.
Finding JudgeTrouble(const SlurmFacts& facts) {
  const SlurmError error(facts.trouble.value_or(TroubleReport{}));
  if (!facts.conf) {
    return Warn("slurm", "none here: no slurm.conf is found", "on a cluster: set SLURM_CONF to the site's slurm.conf");
  }
  return Fail("slurm", fmt::format("{} ({})", error.message(), facts.conf->string()), error.next_step());
}

}  // namespace

SlurmFacts ProbeSlurm() {
  SlurmFacts facts;
  facts.conf = FindSlurmConf(Environment::Inherited());
  facts.munge = TryMunge();
  if (!facts.conf) return facts;
  try {
    const SlurmClient slurm;
    const auto began = SystemClock().Steady();
    auto cluster = slurm.Cluster();
    facts.took = SystemClock().Steady() - began;
    facts.partitions = slurm.Partitions();
    facts.cluster = std::move(cluster);
  } catch (const SlurmError& error) {
    facts.trouble = error.report();
  }
  return facts;
}

Findings Judge(const SlurmFacts& facts) {
  if (!facts.cluster) return {JudgeTrouble(facts), JudgeMunge(facts)};
  return {JudgeController(facts), JudgeLibrary(*facts.cluster), JudgeMunge(facts)};
}

}  // namespace slipway::launcher
