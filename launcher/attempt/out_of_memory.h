/// Whether the kernel has ended processes because memory ran out.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace slipway::launcher {

/// How often the kernel has done so, in our control group where it counts them (cgroup v2, memory.events), else on the
/// whole machine (/proc/vmstat). 0 when neither can be read. What counts is the rise. Source: Linux, cgroup-v2.rst.
std::uint64_t OutOfMemoryKills();
/// The same, up to 50 ms old: for what begins thousands of attempts a second.
std::uint64_t OutOfMemoryKillsLately();

/// The number behind the line `oom_kill N` of such a file.
std::optional<std::uint64_t> ParseOutOfMemoryKills(std::string_view text);

/// The control group of this process in the text of /proc/self/cgroup: the line `0::PATH`.
std::optional<std::string_view> ParseControlGroup(std::string_view text);

}  // namespace slipway::launcher
