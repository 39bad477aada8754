#include "launcher/cluster/job_identity.h"

#include <fmt/format.h>

#include "launcher/cluster/slurm_trouble.h"

namespace slipway::launcher {
namespace {

bool MayBeOf(std::string_view known, std::string_view cluster) {
  return known.empty() || cluster.empty() || known == cluster;
}

/// By what it was submitted with, or from where.
bool IsOfThisRun(const JobIdentity& meant, const SlurmJob& job) {
  if (meant.comment.empty() && meant.work_dir.empty()) return true;
  return (!meant.comment.empty() && job.comment == meant.comment) ||
         (!meant.work_dir.empty() && job.work_dir == meant.work_dir);
}

}  // namespace

bool IsSameJob(const JobIdentity& left, const JobIdentity& right) {
  return left.id == right.id && MayBeOf(left.cluster, right.cluster);
}

bool IsMeant(const JobIdentity& meant, const SlurmJob& job) {
  const bool has_number = job.id == meant.id || (job.array_job != 0 && job.array_job == meant.id);
  return has_number && MayBeOf(meant.cluster, job.cluster) && meant.owner.value_or(job.user) == job.user &&
         IsOfThisRun(meant, job);
}

std::string WhyElsewhere(const JobIdentity& meant, std::string_view cluster) {
  if (MayBeOf(meant.cluster, cluster)) return {};
  const auto job = meant.id != 0 ? fmt::format("job {}", meant.id) : std::string("it");
  return fmt::format("{} belongs to cluster '{}', and Slurm here is cluster '{}'", job, meant.cluster, cluster);
}

void RequireCluster(const JobIdentity& meant, std::string_view cluster) {
  if (auto why = WhyElsewhere(meant, cluster); !why.empty()) {
    throw SlurmError({SlurmTrouble::kOtherCluster, 0, std::move(why), ""});
  }
}

void RequireMeant(const JobIdentity& meant, const SlurmJob& job) {
  if (IsMeant(meant, job)) return;
  throw SlurmError({SlurmTrouble::kOtherJob, 0,
                    fmt::format("job {} is '{}' of user {}, started in '{}'", job.id, job.name, job.user, job.work_dir),
                    ""});
}

}  // namespace slipway::launcher
