/// A tree that goes into a directory which is there already, name by name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "staging/out/stage_out.h"
#include "staging/out/tree.h"

namespace slipway::staging {

/// Takes out of `tree` the files that `destination` has already. `on_compared` is told of the bytes that were read to
/// find out, and may throw.
///
/// Cost: with Unchanged::kContents one read of both sides, past the page cache where the file systems have it.
void LeaveOutUnchanged(Tree& tree, const std::filesystem::path& destination, Unchanged by,
                       const std::function<void(const SourceFile&, std::uint64_t bytes)>& on_compared);

/// Moves every name of the tree from `prepared` to `destination`. What is of another kind there (a directory in the
/// place of a file, a link in that of a directory) changes places with the new one. Errors: those of Rename.
void Merge(const Tree& tree, const std::filesystem::path& prepared, const std::filesystem::path& destination);

/// renameat2(2). Errors: Error(kEnvironment) when `to` is in the way, or when the file system cannot exchange two
/// names; SystemError.
void Rename(const std::filesystem::path& from, const std::filesystem::path& to, unsigned flags);

}  // namespace slipway::staging
