/// Where a source file lies, and what it is called in the dataset, in little memory: datasets have 100,000 files and
/// more, and std::filesystem::path keeps a node for each component.
#pragma once

#include <concepts>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace slipway::staging {

/// A path as text.
class PathText {
 public:
  PathText() = default;
  template <class Path>
  requires(!std::same_as<std::remove_cvref_t<Path>, PathText> && std::convertible_to<Path, std::filesystem::path>)
      PathText(Path&& path)
      : text_(std::filesystem::path(std::forward<Path>(path)).native()) {}

  operator std::filesystem::path() const { return text_; }
  const std::string& native() const& { return text_; }
  const std::string& string() const& { return text_; }
  const char* c_str() const& { return text_.c_str(); }
  bool operator==(const PathText&) const = default;
  template <std::convertible_to<std::string_view> Text>
  bool operator==(const Text& text) const {
    return text_ == std::string_view(text);
  }
  bool operator==(const std::filesystem::path& path) const { return text_ == path.native(); }

 private:
  std::string text_;
};

/// A path whose first part many files share.
class SourcePath {
 public:
  SourcePath() = default;
  template <class Path>
  requires(!std::same_as<std::remove_cvref_t<Path>, SourcePath> && std::convertible_to<Path, std::filesystem::path>)
      SourcePath(Path&& path)
      : below_(std::filesystem::path(std::forward<Path>(path)).native()) {}
  /// `tree` ends in a slash.
  SourcePath(std::shared_ptr<const std::string> tree, std::string below)
      : tree_(std::move(tree)), below_(std::move(below)) {}

  operator std::filesystem::path() const { return native(); }
  std::string native() const { return tree_ ? *tree_ + below_ : below_; }
  std::string string() const { return native(); }
  std::size_t size() const { return (tree_ ? tree_->size() : 0) + below_.size(); }
  std::filesystem::path filename() const { return std::filesystem::path(below_).filename(); }
  std::filesystem::path parent_path() const { return std::filesystem::path(native()).parent_path(); }
  bool operator==(const SourcePath& other) const { return native() == other.native(); }
  bool operator==(const std::filesystem::path& path) const { return native() == path.native(); }

 private:
  std::shared_ptr<const std::string> tree_;
  std::string below_;
};

}  // namespace slipway::staging
