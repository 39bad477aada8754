#include "tests/staging/kernel_faults.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <string_view>

namespace slipway::test {
namespace {

std::atomic<int> steps_left{0};  // 0: nobody counts
std::atomic<int> synced{0};
std::atomic<int> syncfs_error{0};

std::string& NetworkTree() {
  static std::string tree;
  return tree;
}

void BeforeStep() {
  if (steps_left > 0 && --steps_left == 0) ::kill(::getpid(), SIGKILL);
}

}  // namespace

void KillBeforeStep(int number) { steps_left = number; }

void FailNextSyncfs(int code) { syncfs_error = code; }

void PretendNetwork(const std::filesystem::path& tree) { NetworkTree() = tree.native(); }

int CountOfSyncedFiles() { return synced; }

}  // namespace slipway::test

extern "C" {

int rename(const char* from, const char* to) noexcept {
  slipway::test::BeforeStep();
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int renameat2(int from_directory, const char* from, int to_directory, const char* to, unsigned flags) noexcept {
  slipway::test::BeforeStep();
  return static_cast<int>(::syscall(SYS_renameat2, from_directory, from, to_directory, to, flags));
}

int unlink(const char* path) noexcept {
  slipway::test::BeforeStep();
  return static_cast<int>(::syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

int fsync(int fd) {
  slipway::test::BeforeStep();
  ++slipway::test::synced;
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

int syncfs(int fd) noexcept {
  slipway::test::BeforeStep();
  if (const int code = slipway::test::syncfs_error.exchange(0); code != 0) {
    errno = code;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_syncfs, fd));
}

int statfs(const char* path, struct statfs* info) noexcept {
  const auto result = static_cast<int>(::syscall(SYS_statfs, path, info));
  const auto& tree = slipway::test::NetworkTree();
  if (result == 0 && !tree.empty() && std::string_view(path).starts_with(tree)) info->f_type = NFS_SUPER_MAGIC;
  return result;
}
}
