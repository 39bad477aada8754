/// The kind of file system of a trial book. It decides how SQLite may write there.
#pragma once

#include <filesystem>

namespace slipway::ensemble {

enum class Storage { kLocal, kNetwork };

/// Decides by the magic number of statfs(2). Network: NFS, Lustre, GPFS, BeeGFS, SMB, 9P, Ceph, AFS, OrangeFS and FUSE.
Storage StorageOf(const std::filesystem::path& directory);

}  // namespace slipway::ensemble
