/// Who can have written a file: what this user may take orders from.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "core/unique_handle.h"

namespace slipway {

/// The user's name, or the number where there is none.
std::string UserName(uid_t user);

/// Why users other than this one and root can have written it: "it belongs to bob", "any user can write to it",
/// "the group physics may write to it". Empty: no other can. A group that has the owner's name is the owner's own.
/// A link must be one's own, too. Errors: SystemError when it is not there.
std::string WhyNotOwn(const std::filesystem::path& path);
/// The same of what is open.
std::string WhyNotOwn(int fd);

/// Whether everybody may put files into a folder, also where they cannot remove those of others.
bool IsOpenToAll(const std::filesystem::path& folder);

}  // namespace slipway
