/// What a dataset will hold when all of it has arrived: `.listing` in a directory that is still being filled. There is
/// no manifest yet, but readers that begin on what is there must know the names of all files.
///
/// Form ("slipway.listing/1"): schema, format, files in the order of their names: path, bytes, records (number or
/// null).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "staging/formats/stream_check.h"

namespace slipway::staging {

inline constexpr std::string_view kListingName = ".listing";

struct ListedFile {
  std::string path;  ///< relative, never outside the directory
  Bytes bytes;
  std::optional<std::uint64_t> records;  ///< where they were counted before

  bool operator==(const ListedFile&) const = default;
};

struct Listing {
  DataFormat format = DataFormat::kRaw;
  std::vector<ListedFile> files;

  bool operator==(const Listing&) const = default;
};

/// Sets all members of `file` to those of file `i`. `file` holds those of the file before, with their memory.
using FillListedFile = std::function<void(std::size_t i, ListedFile& file)>;
/// Of `count` files, each asked for once and in order: there may be too many for a second list.
std::string RenderListing(DataFormat format, std::size_t count, const FillListedFile& fill);
/// Errors: Error(kEnvironment) calling the text `name`: it is broken, or a path leaves the directory.
Listing ParseListing(std::string_view text, const std::filesystem::path& name);

/// `listing` as rendered. Written under another name and renamed: a reader never sees a part of it.
void WriteListing(const std::filesystem::path& directory, std::string_view listing);

/// Nothing when it is not there (yet). Errors: those of ParseListing.
std::optional<Listing> ReadListing(const std::filesystem::path& directory);

// Names of files as manifests and listings say them: relative to the dataset's directory.

/// False for a name that leads out of its directory, or is not a name. Other users may have written it. Links are not
/// followed.
bool StaysInside(const std::filesystem::path& name);

}  // namespace slipway::staging
