/// SHA-256: the name of content.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace slipway::launcher {

class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  ~Sha256();

  void Add(std::string_view bytes);
  /// 64 hexadecimal digits. Nothing can be added after it.
  std::string Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Of the content of a file. Errors: SystemError.
std::string Sha256OfFile(const std::filesystem::path& file);

}  // namespace slipway::launcher
