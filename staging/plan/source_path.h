/// Paths and dataset names of source files, in little memory. Datasets have 100,000 files and more, and
/// std::filesystem::path keeps a node for each component.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace slipway::staging {

/// Text that never changes, in one allocation that copies share: each takes the 8 bytes of a pointer.
class SharedText {
 public:
  SharedText() = default;
  explicit SharedText(std::string_view text);
  SharedText(const SharedText& other) noexcept : block_(other.block_) {
    if (block_ != nullptr) ++block_->users;
  }
  SharedText(SharedText&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  SharedText& operator=(SharedText other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~SharedText();

  bool empty() const { return view().empty(); }
  std::string_view view() const { return {c_str(), block_ != nullptr ? block_->size : 0}; }
  const char* c_str() const { return block_ != nullptr ? TextOf(block_) : ""; }

 private:
  struct Block {
    std::atomic<std::uint32_t> users;
    std::uint32_t size;  ///< of the text, which follows with a zero at its end
  };
  static char* TextOf(Block* block) { return reinterpret_cast<char*>(block + 1); }

  Block* block_ = nullptr;
};

/// A path as text.
class PathText {
 public:
  PathText() = default;
  template <class Path>
    requires(!std::same_as<std::remove_cvref_t<Path>, PathText> && std::convertible_to<Path, std::filesystem::path>)
  PathText(Path&& path) : text_(TextOf(path)) {}

  operator std::filesystem::path() const { return native(); }
  std::string_view native() const { return text_.view(); }
  std::string string() const { return std::string(native()); }
  const char* c_str() const { return text_.c_str(); }
  bool operator==(const PathText& other) const { return native() == other.native(); }
  template <std::convertible_to<std::string_view> Text>
  bool operator==(const Text& text) const {
    return native() == std::string_view(text);
  }
  bool operator==(const std::filesystem::path& path) const { return native() == path.native(); }

 private:
  template <class Path>
  static SharedText TextOf(const Path& path) {
    if constexpr (std::convertible_to<const Path&, std::string_view>) {
      return SharedText(path);
    } else {
      return SharedText(std::filesystem::path(path).native());
    }
  }

  SharedText text_;
};

/// A path in two parts; many files share the first one.
class SourcePath {
 public:
  SourcePath() = default;
  template <class Path>
    requires(!std::same_as<std::remove_cvref_t<Path>, SourcePath> && std::convertible_to<Path, std::filesystem::path>)
  SourcePath(Path&& path) : below_(std::forward<Path>(path)) {}
  /// `tree` ends in a slash.
  SourcePath(PathText tree, PathText below) : tree_(std::move(tree)), below_(std::move(below)) {}

  operator std::filesystem::path() const { return native(); }
  std::string native() const { return tree_.string().append(below_.native()); }
  std::string string() const { return native(); }
  std::size_t size() const { return tree_.native().size() + below_.native().size(); }
  std::filesystem::path filename() const { return std::filesystem::path(below_).filename(); }
  std::filesystem::path parent_path() const { return std::filesystem::path(native()).parent_path(); }
  bool operator==(const SourcePath& other) const { return native() == other.native(); }
  bool operator==(const std::filesystem::path& path) const { return native() == path.native(); }

 private:
  PathText tree_;
  PathText below_;
};

}  // namespace slipway::staging
