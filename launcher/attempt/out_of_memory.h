/// How often the kernel's OOM killer has ended processes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace slipway::launcher {

/// The number of OOM kills so far. Counted for our control group where the kernel does so (cgroup v2, memory.events),
/// else for the whole machine (/proc/vmstat). 0 when neither can be read. Compare two calls. Source: Linux,
/// cgroup-v2.rst.
std::uint64_t OutOfMemoryKills();
/// The same, up to 50 ms old: for callers that start thousands of attempts a second.
std::uint64_t OutOfMemoryKillsLately();

/// The number behind the line `oom_kill N` of such a file.
std::optional<std::uint64_t> ParseOutOfMemoryKills(std::string_view text);

/// The control group of this process in the text of /proc/self/cgroup: the line `0::PATH`.
std::optional<std::string_view> ParseControlGroup(std::string_view text);

}  // namespace slipway::launcher
