#include "launcher/cluster/slurm_trouble.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/text.h"

namespace slipway::launcher {
namespace {

struct TroubleRow {
  std::string_view name;
  ErrorKind kind;
  std::string_view message;
  std::string_view next_step;
};

/// In the order of SlurmTrouble.
constexpr std::array<TroubleRow, 28> kRows{{
    {"not-built", ErrorKind::kEnvironment, "this Slipway was built without Slurm",
     "install libslurm-dev of the site's Slurm, and build Slipway again"},
    {"no-library", ErrorKind::kEnvironment, "the libslurm that this Slipway was built for is not here",
     "build Slipway on this machine, with the headers of its own Slurm; or name the folder of that libslurm in "
     "LD_LIBRARY_PATH"},
    {"no-configuration", ErrorKind::kEnvironment, "no slurm.conf is found",
     "set SLURM_CONF to the site's slurm.conf, work on a login node, or use --engine local"},
    {"controller", ErrorKind::kEnvironment, "Slurm's controller does not answer",
     "scontrol ping shows who should; when it is up again, give the command again"},
    {"authentication", ErrorKind::kEnvironment, "munge does not vouch for us, so Slurm does not talk to us",
     "check with 'munge -n | unmunge'; the daemon munged must run here, with the cluster's key and the right time"},
    {"version", ErrorKind::kEnvironment, "the controller does not understand the libslurm of this Slipway",
     "build Slipway with the headers of the cluster's own Slurm"},
    {"timeout", ErrorKind::kEnvironment, "Slurm has not answered in time",
     "scontrol ping shows whether the controller is up; give the command again"},
    {"helper", ErrorKind::kEnvironment, "libslurm has given up", "check slurm.conf with 'scontrol ping'"},
    {"partition-closed", ErrorKind::kUsage, "the partition takes no jobs at present",
     "submit again when 'sinfo' lists it as up, or name another one with launch.slurm.partition"},
    {"partition", ErrorKind::kUsage, "Slurm refuses the partition",
     "set launch.slurm.partition to one that 'sinfo' lists as up"},
    {"account", ErrorKind::kUsage, "Slurm refuses the account",
     "set launch.slurm.account to one that 'sacctmgr show associations user=$USER' lists"},
    {"qos", ErrorKind::kUsage, "Slurm refuses the QOS",
     "set launch.slurm.qos to one that 'sacctmgr show associations user=$USER' lists"},
    {"time", ErrorKind::kUsage, "Slurm refuses the time limit",
     "lower launch.time_limit, or name a partition that allows as much: 'sinfo -o \"%P %l\"'"},
    {"nodes", ErrorKind::kUsage, "Slurm refuses the number of nodes",
     "lower launch.nodes, or name a larger partition: 'sinfo -o \"%P %D %s\"'"},
    {"resources", ErrorKind::kUsage, "no node of the partition has what is asked for",
     "compare cores, memory, GPUs and constraint with 'sinfo -o \"%P %D %c %m %G %f\"'"},
    {"limit", ErrorKind::kUsage, "a limit of the account, the QOS or the partition forbids it",
     "'sacctmgr show associations user=$USER' and 'scontrol show partition' list the limits"},
    {"job-limit", ErrorKind::kUsage, "the job is beyond a limit of the account, the QOS or the partition",
     "request less, or name another account, QOS or partition: 'sacctmgr show qos' and 'sacctmgr show associations "
     "user=$USER' list the limits"},
    {"full", ErrorKind::kTryAgain, "Slurm takes no more jobs at the moment",
     "the site's limit (MaxJobCount) is reached; submit again when jobs have ended"},
    {"burst-buffer", ErrorKind::kUsage, "Slurm refuses the burst buffer",
     "slipway plan shows the directives, 'scontrol show burst' what there is"},
    {"dependency", ErrorKind::kUsage, "Slurm refuses the dependency", "name jobs that Slurm still knows"},
    {"reservation", ErrorKind::kUsage, "Slurm refuses the reservation",
     "set launch.slurm.reservation to one that 'scontrol show reservation' lists for you"},
    {"denied", ErrorKind::kUsage, "Slurm does not allow it", "only a job's owner and operators may change it"},
    {"unknown-job", ErrorKind::kFailed, "Slurm's controller does not know the job (any more)",
     "it forgets jobs some minutes after their end; 'sacct' knows more where the site keeps accounts"},
    {"other-job", ErrorKind::kFailed, "the number of the run's job is that of another job by now, which is left alone",
     "what became of the run shows in slipway status"},
    {"other-cluster", ErrorKind::kEnvironment, "the job is not one of this cluster",
     "give the command on a login node of its own cluster, or set SLURM_CONF to the slurm.conf of that"},
    {"over", ErrorKind::kFailed, "the job has ended already", ""},
    {"not-now", ErrorKind::kFailed, "the state of the job does not allow it", "try again in a moment"},
    {"refused", ErrorKind::kEnvironment, "Slurm refuses", "its own words say why"},
}};

static_assert(kRows.size() == static_cast<std::size_t>(SlurmTrouble::kRefused) + 1);

const TroubleRow& RowOf(SlurmTrouble trouble) { return kRows[static_cast<std::size_t>(trouble)]; }

std::string Message(const TroubleReport& report) {
  std::string message(RowOf(report.trouble).message);
  if (!report.text.empty()) message += fmt::format(": {}", report.text);
  return message;
}

}  // namespace

WordTable<SlurmTrouble> WordsOf(SlurmTrouble) {
  static constexpr auto kWords = [] {
    std::array<Word<SlurmTrouble>, kRows.size()> words{};
    for (std::size_t i = 0; i < words.size(); ++i)
      words[i] = {static_cast<SlurmTrouble>(i), kRows[i].name, kRows[i].message};
    return words;
  }();
  return kWords;
}

bool MayPass(SlurmTrouble trouble) {
  switch (trouble) {
    case SlurmTrouble::kController:
    case SlurmTrouble::kAuthentication:
    case SlurmTrouble::kTimeout:
    case SlurmTrouble::kHelper:
    case SlurmTrouble::kNotNow: return true;
    default: return false;
  }
}

bool MayHaveRoomLater(SlurmTrouble trouble) {
  return trouble == SlurmTrouble::kFull || trouble == SlurmTrouble::kLimit || trouble == SlurmTrouble::kClosed;
}

std::string EndOfErrors(std::string_view errors, std::string_view prefix) {
  constexpr std::size_t kMostCharacters = 1000;
  std::string said;
  for (auto& line : LinesOf(errors)) {
    if (line.starts_with(prefix)) line.erase(0, prefix.size());
    if (!line.empty()) said += (said.empty() ? "" : "; ") + line;
  }
  return said.size() > kMostCharacters ? "..." + said.substr(said.size() - kMostCharacters) : said;
}

SlurmError::SlurmError(TroubleReport report, std::string next_step)
    : Error(RowOf(report.trouble).kind, Message(report),
            next_step.empty() ? std::string(RowOf(report.trouble).next_step) : std::move(next_step)),
      report_(std::move(report)) {
  if (!report_.during.empty()) AddContext(fmt::format("while {}", report_.during));
}

void SlurmError::AddToDocument(Json& document) const {
  document["slurm"] = {{"trouble", WordOf(report_.trouble)}, {"code", report_.code}};
}

}  // namespace slipway::launcher
