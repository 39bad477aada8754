/// Libraries that this process has loaded.
#pragma once

#include <span>
#include <string>

namespace slipway::runtime {

/// The path of the first of `names` that a loaded library has, as the name of its file or as its soname; empty: none.
/// Cost: a look at each loaded library. No file is looked for.
std::string PathOfLoaded(std::span<const char* const> names);
/// A handle of that library, which stays loaded; null: none. Only a library that is there costs a dlopen: with a name
/// alone, dlopen tries it in all folders where libraries lie.
void* OpenLoaded(std::span<const char* const> names);

}  // namespace slipway::runtime
