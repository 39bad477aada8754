/// The text in `trials.lock`: which process writes the trial book.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/process.h"
#include "core/words.h"

namespace slipway::ensemble {

/// For how long a process keeps the lock. Stored in `trials.lock`.
enum class Hold {
  kManager,  ///< while it runs or serves the ensemble
  kCommand,  ///< for one change, such as `slipway trials tell`
};

WordTable<Hold> WordsOf(Hold);

struct Holder {
  ProcessIdentity process;
  std::string host;
  Hold hold = Hold::kManager;

  bool operator==(const Holder&) const = default;
};

/// This process, as one line of JSON.
std::string DescribeThisProcess(Hold hold);
/// The holder in the text of the lock file. Nothing when the file is missing, empty or unreadable.
std::optional<Holder> ReadHolder(const std::filesystem::path& lock);
/// Whether the holder may still run. On this host: exactly that process runs. For another host: always true, because
/// this host cannot check.
bool MayBeAlive(const Holder& holder);
/// Whether a manager that may be alive is the holder in the text of the lock file.
bool HasManager(const std::filesystem::path& lock);

}  // namespace slipway::ensemble
