#include "launcher/cluster/directive_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text.h"

namespace slipway::launcher {
namespace {

bool IsOptionCharacter(char c) { return (c >= 'a' && c <= 'z') || c == '-'; }

/// Options that a run relies on -> where they come from.
struct OwnOption {
  std::string_view option;
  std::string_view field;
};

constexpr std::array kOwnOptions = {
    OwnOption{"--account", "launch.slurm.account"},
    OwnOption{"--array", "ensemble"},
    OwnOption{"--bb", "launch.slurm.burst_buffer"},
    OwnOption{"--bbf", "launch.slurm.burst_buffer"},
    OwnOption{"--chdir", ""},
    OwnOption{"--comment", ""},
    OwnOption{"--constraint", "launch.slurm.constraint"},
    OwnOption{"--cpus-per-task", "launch.cpus_per_rank"},
    OwnOption{"--error", ""},
    OwnOption{"--exclusive", "launch.slurm.exclusive"},
    OwnOption{"--job-name", "name"},
    OwnOption{"--licenses", "launch.slurm.licenses"},
    OwnOption{"--mem", "launch.slurm.memory_per_node"},
    OwnOption{"--no-kill", "resilience.on_node_failure"},
    OwnOption{"--no-requeue", "launch.slurm.requeue"},
    OwnOption{"--nodes", "launch.nodes"},
    OwnOption{"--ntasks", "launch.ranks_per_node"},
    OwnOption{"--ntasks-per-node", "launch.ranks_per_node"},
    OwnOption{"--open-mode", ""},
    OwnOption{"--output", ""},
    OwnOption{"--partition", "launch.slurm.partition"},
    OwnOption{"--qos", "launch.slurm.qos"},
    OwnOption{"--requeue", "launch.slurm.requeue"},
    OwnOption{"--reservation", "launch.slurm.reservation"},
    OwnOption{"--signal", "launch.slurm.signal_before"},
    OwnOption{"--time", "launch.time_limit"},
    OwnOption{"--wrap", ""},
};

/// sbatch takes any beginning of an option that is long enough to be clear: `--part` is `--partition`.
const OwnOption* FindOwn(std::string_view name) {
  const auto exact =
      std::find_if(kOwnOptions.begin(), kOwnOptions.end(), [&](const OwnOption& own) { return own.option == name; });
  if (exact != kOwnOptions.end()) return exact;
  const auto longer = std::find_if(kOwnOptions.begin(), kOwnOptions.end(), [&](const OwnOption& own) {
    return name.size() >= 5 && own.option.starts_with(name);
  });
  return longer != kOwnOptions.end() ? longer : nullptr;
}

/// Slurm refuses a job that requests GPUs in two ways.
bool RequestsGpus(std::string_view name, std::string_view option) {
  if (name.starts_with("--gpus")) return true;
  const bool lists_devices = name == "--gres" || name.starts_with("--tres-per-");
  return lists_devices && option.substr(name.size()).find("gpu") != std::string_view::npos;
}

}  // namespace

std::string Shown(std::string_view text) {
  std::string shown(text);
  std::replace_if(shown.begin(), shown.end(), IsControlCharacter, '?');
  return "'" + shown + "'";
}

std::string WhyNotInDirective(std::string_view text) {
  if (std::any_of(text.begin(), text.end(), IsControlCharacter)) {
    return "it holds a line break or another control character";
  }
  // sbatch takes a backslash as an escape also inside quotes, and the names of files end their symbols with two.
  if (text.find('\\') != std::string_view::npos) return "it holds a backslash";
  return {};
}

std::string WhyNotAnOption(std::string_view option) {
  if (!option.starts_with('-') || option.size() < 2) return "an option of sbatch begins with '-'";
  if (auto reason = WhyNotInDirective(option); !reason.empty()) return reason;
  if (!option.starts_with("--")) {
    return "write the long form, such as --exclude=n1: short options cannot be checked";
  }
  const auto name = option.substr(0, option.find('='));
  if (name.size() < 4 || !std::all_of(name.begin(), name.end(), IsOptionCharacter)) {
    return "it is no option of sbatch such as --exclude=n1";
  }
  if (RequestsGpus(name, option)) {
    return fmt::format("{} requests GPUs, as 'launch.gpus_per_rank' and 'launch.slurm.gpu_type' do; set those", name);
  }
  const auto* own = FindOwn(name);
  if (own == nullptr) return {};
  if (own->field.empty()) return fmt::format("{} is set by Slipway itself", own->option);
  return fmt::format("{} follows from '{}'; set that", own->option, own->field);
}

std::string WhyNotInBufferDirective(std::string_view text) {
  if (auto reason = WhyNotInDirective(text); !reason.empty()) return reason;
  constexpr std::string_view kBreaksWords = " \"'`#";
  if (text.find_first_of(kBreaksWords) != std::string_view::npos) return "it holds a blank, a quote or '#'";
  if (text.find('$') != std::string_view::npos) return "it holds a '$'";
  for (const std::string_view key :
       {"capacity=", "pool=", "access_mode=", "access=", "type=", "name=", "source=", "destination=", "profile="}) {
    if (text.find(key) != std::string_view::npos) return fmt::format("it holds '{}', a key of the directive", key);
  }
  return {};
}

std::string SlurmPattern(const std::filesystem::path& path) {
  std::string pattern;
  for (const char c : path.native()) pattern += c == '%' ? std::string("%%") : std::string(1, c);
  return pattern;
}

}  // namespace slipway::launcher
