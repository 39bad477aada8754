/// System calls of this test program that can be made to fail or to be the last. Linking the .cpp file takes their
/// place.
#pragma once

#include <filesystem>

namespace slipway::test {

/// From now on this process counts what changes names or makes things durable, and is killed by SIGKILL before the
/// `number`th (from 1).
void KillBeforeStep(int number);

/// Syncing a file system fails once with this errno.
void FailNextSyncfs(int code);

/// What lies below `tree` says that it is on NFS; empty: nothing does.
void PretendNetwork(const std::filesystem::path& tree);
/// How many files were synced one by one so far.
int CountOfSyncedFiles();

}  // namespace slipway::test
