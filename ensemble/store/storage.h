/// What kind of file system a trial book lies on; it decides how SQLite may write there.
#pragma once

#include <filesystem>

namespace slipway::ensemble {

enum class Storage { kLocal, kNetwork };

/// By the magic number of statfs(2): NFS, Lustre, GPFS, BeeGFS, SMB, 9P, Ceph, AFS, OrangeFS and FUSE count as network.
Storage StorageOf(const std::filesystem::path& directory);

}  // namespace slipway::ensemble
