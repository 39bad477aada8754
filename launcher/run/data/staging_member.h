/// The process that stages and holds the datasets of a run on one of several nodes.
#pragma once

#include <filesystem>

namespace slipway::launcher {

struct MemberOptions {
  std::filesystem::path folder;        ///< of the run
  int node = 0;                        ///< from 0
  std::filesystem::path key;           ///< of the group, read by GroupKey::Read
  std::filesystem::path channel_path;  ///< a socket to the manager
};

/// Serves the manager (member_protocol.h) until it orders the release, is gone, or SIGTERM arrives. Then removes what
/// was staged for this run only, and returns. Errors: Error(kEnvironment) when no process listens at channel_path.
int RunStagingMember(const MemberOptions& options);

}  // namespace slipway::launcher
