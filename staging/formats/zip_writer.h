/// Writes a zip file of stored members, as numpy.savez does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace slipway::staging {

/// The same bytes for each call: no times. Errors: SystemError naming the file.
class ZipWriter {
 public:
  explicit ZipWriter(std::filesystem::path path);

  /// `bytes`: about how long the member will be; from 4 GiB on its header has 64-bit sizes.
  void Begin(const std::string& name, std::uint64_t bytes);
  void Append(std::string_view bytes);
  /// Writes the directory. Without it the file is torn.
  void Close();

 private:
  void EndMember();
  void Check(int code) const;

  struct CloseZip {
    void operator()(void* zip) const;
  };

  std::filesystem::path path_;
  std::unique_ptr<void, CloseZip> zip_;
  bool in_member_ = false;
};

}  // namespace slipway::staging
