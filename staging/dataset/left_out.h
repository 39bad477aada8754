/// Files of a folder that are no part of the dataset, and how users are told of them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "core/json.h"

namespace slipway::staging {

/// Why a file was left out. The words stand in JSON documents.
enum class LeftOutReason {
  kOtherContent,  ///< "other_content": it is read, and is not of the format
  kHidden,        ///< "hidden": its name begins with a dot; of a folder: with all that is in it
  kFolder,        ///< "folder": with all that is in it
  kNoClass,       ///< "no_class": an image that lies in no folder of a class
  kLinkToFolder,  ///< "link_to_folder"
  kDanglingLink,  ///< "dangling_link"
  kNotAFile       ///< "not_a_file": a fifo, socket or device
};
std::string_view LeftOutReasonName(LeftOutReason reason);

struct LeftOutFile {
  std::filesystem::path path;
  LeftOutReason reason = LeftOutReason::kOtherContent;
};

/// "3 of 25 files are left out: 2 are of another format (README.md, notes.txt), 1 is hidden (.tmp)"; at most a few
/// names for each reason. Empty when nothing was left out. `taken`: how many files were not.
std::string DescribeLeftOut(std::span<const LeftOutFile> left_out, std::size_t taken);

/// A list of {"path", "reason"}.
Json ToJson(std::span<const LeftOutFile> left_out);

}  // namespace slipway::staging
