#include "ensemble/store/storage.h"

#include <fmt/format.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/error.h"

namespace slipway::ensemble {
namespace {

// linux/magic.h and the file systems' own sources.
constexpr std::array<std::uint32_t, 11> kNetworkMagics = {
    0x6969,      // NFS
    0x0BD00BD0,  // Lustre
    0x47504653,  // GPFS
    0x19830326,  // BeeGFS
    0xFF534D42,  // CIFS
    0xFE534D42,  // SMB2
    0x65735546,  // FUSE
    0x01021997,  // 9P
    0x00C36400,  // Ceph
    0x5346414F,  // AFS
    0x20030528,  // OrangeFS
};

}  // namespace

Storage StorageOf(const std::filesystem::path& directory) {
  struct statfs info {};
  CheckErrno(::statfs(directory.c_str(), &info), fmt::format("cannot look at '{}'", directory.string()));
  const auto magic = static_cast<std::uint32_t>(info.f_type);
  const bool is_network = std::find(kNetworkMagics.begin(), kNetworkMagics.end(), magic) != kNetworkMagics.end();
  return is_network ? Storage::kNetwork : Storage::kLocal;
}

}  // namespace slipway::ensemble
