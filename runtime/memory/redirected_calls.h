/// Calls from a loaded library into others, led elsewhere.
#pragma once

#include <span>
#include <string_view>

namespace slipway::runtime {

/// Calls of `function`, which lead to `usual` now, or were never made, are to lead to `instead`.
struct Redirection {
  std::string_view function;
  void* usual = nullptr;
  void* instead = nullptr;
};

/// In the library of this process whose file is `library`, with or without a version after it. In the order given, all
/// or none; nothing undoes it. False: there is no such library, it calls one of the functions in a way that is not
/// known, or something else has redirected one.
/// Source: System V ABI, "Global Offset Table": a library finds functions of others in entries that the dynamic linker
/// fills. x86-64 and 64-bit Arm.
bool RedirectCalls(std::string_view library, std::span<const Redirection> calls);

}  // namespace slipway::runtime
