#include "launcher/workflow/sha256.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>

#include <array>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace slipway::launcher {

struct Sha256::State {
  crypto_hash_sha256_state hash;
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  if (sodium_init() < 0) throw Error(ErrorKind::kInternal, "libsodium cannot start");
  crypto_hash_sha256_init(&state_->hash);
}
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::Add(std::string_view bytes) {
  crypto_hash_sha256_update(&state_->hash, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

std::string Sha256::Finish() {
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
  crypto_hash_sha256_final(&state_->hash, digest.data());
  std::array<char, 2 * crypto_hash_sha256_BYTES + 1> text{};
  sodium_bin2hex(text.data(), text.size(), digest.data(), digest.size());
  return text.data();
}

std::string Sha256OfFile(const std::filesystem::path& file) {
  const auto fd = OpenFile(file, O_RDONLY | O_NONBLOCK | O_NOCTTY);  // of a pipe, it would wait for a writer
  std::vector<std::byte> buffer(std::size_t{1} << 18);
  Sha256 hash;
  ReadPieces(fd.get(), buffer, file, [&](std::span<const std::byte> piece) { hash.Add(AsText(piece)); });
  return hash.Finish();
}

}  // namespace slipway::launcher
