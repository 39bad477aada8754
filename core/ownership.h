/// Ownership of files: which other users can have written what this user is about to trust.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "core/unique_handle.h"

namespace slipway {

/// The user's name; the number if it has no name.
std::string UserName(uid_t user);

/// Why users other than this one and root can have written it; empty when no other can. Examples: "it belongs to bob",
/// "any user can write to it", "the group physics may write to it". A group with the owner's name counts as the owner's
/// own. A link must belong to this user or root, too. Errors: SystemError when it does not exist.
std::string WhyNotOwn(const std::filesystem::path& path);
/// The same for an open file.
std::string WhyNotOwn(int fd);

/// A folder, not a link to one, into which only this user can have written (mode 0700).
bool IsPrivateFolder(const std::filesystem::path& path);

/// Whether all users may put files into a folder, even if they cannot remove those of others.
bool IsOpenToAll(const std::filesystem::path& folder);

}  // namespace slipway
