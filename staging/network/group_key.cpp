#include "staging/network/group_key.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "core/error.h"
#include "core/files.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

static_assert(crypto_auth_hmacsha256_BYTES == sizeof(Digest) && crypto_hash_sha256_BYTES == sizeof(Digest));
constexpr std::size_t kHexDigits = 2 * sizeof(Digest);

/// sodium_init is safe to call again, and from several threads.
void StartSodium() {
  if (sodium_init() < 0) throw Error(ErrorKind::kInternal, "libsodium cannot start");
}

Error BadKey(const fs::path& path, std::string_view why, std::string next_step) {
  return Error(ErrorKind::kEnvironment, fmt::format("the key file '{}' {}", path.string(), why), std::move(next_step));
}

void CheckOwner(const fs::path& path, int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) ThrowErrno(fmt::format("cannot look at '{}'", path.string()));
  if (!S_ISREG(info.st_mode)) throw BadKey(path, "is not a regular file", "name a file with 64 hexadecimal digits");
  if (info.st_uid != ::geteuid()) {
    throw BadKey(path, fmt::format("belongs to user {}, not to us", info.st_uid), "make a key file of your own");
  }
  if ((info.st_mode & 077) != 0) {
    throw BadKey(path, fmt::format("is open to others (mode {:04o})", info.st_mode & 07777),
                 fmt::format("chmod 600 {}; if another user can have read it, make a new key", path.string()));
  }
}

/// Overwrites what has served: compilers leave out other ways.
template <class Memory>
void Wipe(Memory& memory) {
  sodium_memzero(memory.data(), memory.size());
}

std::string ReadSome(int fd, const fs::path& path) {
  std::string text(kHexDigits + 2, '\0');
  const auto count = CheckErrno(::read(fd, text.data(), text.size()), fmt::format("cannot read '{}'", path.string()));
  text.resize(static_cast<std::size_t>(count));
  return text;
}

}  // namespace

GroupKey::~GroupKey() { Wipe(bytes_); }

GroupKey GroupKey::Read(const fs::path& path) {
  StartSodium();
  const auto fd = OpenFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  CheckOwner(path, fd.get());
  auto text = ReadSome(fd.get(), path);
  if (text.ends_with('\n')) text.pop_back();
  Digest bytes{};
  std::size_t count = 0;
  const char* end = nullptr;
  const int result = sodium_hex2bin(bytes.data(), bytes.size(), text.data(), text.size(), nullptr, &count, &end);
  const bool good = result == 0 && text.size() == kHexDigits && count == bytes.size();
  const GroupKey key(bytes);
  Wipe(text);
  Wipe(bytes);
  if (!good) throw BadKey(path, "does not hold 64 hexadecimal digits", "make a new key");
  return key;
}

void GroupKey::Create(const fs::path& path) {
  auto key = RandomDigest();
  std::string text(kHexDigits + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), key.data(), key.size());
  text.back() = '\n';
  const auto fd = OpenFile(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  WriteAll(fd.get(), text, path);
  Wipe(text);
  Wipe(key);
}

Digest GroupKey::Prove(std::initializer_list<ByteView> parts) const {
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, bytes_.data(), bytes_.size());
  for (const auto& part : parts) crypto_auth_hmacsha256_update(&state, part.data(), part.size());
  Digest proof;
  crypto_auth_hmacsha256_final(&state, proof.data());
  sodium_memzero(&state, sizeof state);  // it was made from the key
  return proof;
}

GroupKey GroupKey::Derive(std::string_view purpose, ByteView about) const {
  const auto size = static_cast<std::uint8_t>(purpose.size());
  auto bytes = Prove({{&size, 1}, ViewOf(purpose), about});
  const GroupKey key(bytes);
  Wipe(bytes);
  return key;
}

bool SameDigest(const Digest& left, const Digest& right) {
  return sodium_memcmp(left.data(), right.data(), left.size()) == 0;
}

Digest RandomDigest() {
  StartSodium();
  Digest random;
  randombytes_buf(random.data(), random.size());
  return random;
}

Digest DigestOf(std::string_view text) {
  StartSodium();
  Digest digest;
  crypto_hash_sha256(digest.data(), ViewOf(text).data(), text.size());
  return digest;
}

}  // namespace slipway::staging
