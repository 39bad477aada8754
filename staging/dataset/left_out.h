/// Files of a folder that are not part of the dataset, and the messages about them.
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
  kHidden,        ///< "hidden": its name begins with a dot; a folder with all its content
  kFolder,        ///< "folder": with all that is in it
  kNoClass,       ///< "no_class": an image outside the folders of classes
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
