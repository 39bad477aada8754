/// The process that stages the datasets of a run on one node of several, and holds them.
#pragma once

#include <filesystem>

namespace slipway::launcher {

struct MemberOptions {
  std::filesystem::path folder;        ///< of the run
  int node = 0;                        ///< from 0
  std::filesystem::path key;           ///< of the group, what GroupKey::Read reads
  std::filesystem::path channel_path;  ///< a socket at whose other end the manager is
};

/// Serves the manager (member_protocol.h) until it lets go or is gone, or SIGTERM; then returns, and nothing that was
/// staged for this run only is left. Errors: Error(kEnvironment) when nothing listens at channel_path.
int RunStagingMember(const MemberOptions& options);

}  // namespace slipway::launcher
