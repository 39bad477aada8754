/// Tests of what depends on permissions and on disks that are too small.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>

namespace slipway::test {

/// Runs `body` in a child process; true from it becomes exit code 0.
pid_t InChild(const std::function<bool()>& body);
/// True when the child's body returned true.
bool Succeeded(pid_t child);
/// `body` as a user that file permissions apply to: in a child that gives up root, if this is root.
bool AsOrdinaryUser(const std::function<bool()>& body);

/// Gives this process mounts and a host name of its own, also without being root; false where that is not allowed.
bool EnterOwnNamespaces();
/// A tmpfs with these mount options at `root`, seen by this process only; false where that is not allowed.
bool MountSmallDisk(const std::filesystem::path& root, const char* options);

}  // namespace slipway::test
