/// Numbers and texts as bytes: little endian, and never read beyond the end.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace slipway::staging {

class WireWriter {
 public:
  template <class Integer>
  WireWriter& Number(Integer value) {
    auto bits = static_cast<std::uint64_t>(value);
    for (std::size_t i = 0; i < sizeof(Integer); ++i, bits >>= 8) bytes_.push_back(static_cast<char>(bits & 0xff));
    return *this;
  }
  /// At most kLongestText bytes of it.
  WireWriter& Text(std::string_view text) {
    text = text.substr(0, kLongestText);
    Number(static_cast<std::uint32_t>(text.size()));
    return Raw(text);
  }
  WireWriter& Raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  template <class Array>
  WireWriter& Array8(const Array& bytes) {
    return Raw({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  const std::string& bytes() const { return bytes_; }

  static constexpr std::size_t kLongestText = 4096;

 private:
  std::string bytes_;
};

/// After a read beyond the end all values are 0 and good() is false.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  template <class Integer>
  Integer Number() {
    const auto bytes = Take(sizeof(Integer));
    std::uint64_t bits = 0;
    for (std::size_t i = bytes.size(); i-- > 0;) bits = bits << 8 | static_cast<unsigned char>(bytes[i]);
    return static_cast<Integer>(bits);
  }
  std::string Text() { return std::string(Take(Number<std::uint32_t>())); }
  template <class Array>
  void Array8(Array& out) {
    const auto bytes = Take(out.size());
    if (good_) std::memcpy(out.data(), bytes.data(), out.size());
  }
  std::string_view rest() const { return rest_; }
  bool good() const { return good_; }

 private:
  std::string_view Take(std::size_t count) {
    if (count > rest_.size()) {
      good_ = false;
      rest_ = {};
      return {};
    }
    const auto taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::string_view rest_;
  bool good_ = true;
};

}  // namespace slipway::staging
