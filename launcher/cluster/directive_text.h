/// What may stand in the comment lines at the head of a batch script, which programs read and no shell does. Pure.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace slipway::launcher {

/// Why `text` cannot be the value of an `#SBATCH` option, even in quotes; empty when it can.
std::string WhyNotInDirective(std::string_view text);

/// Why `option` cannot be passed on to sbatch; empty when it can: "--name", "--name=value", "-Xvalue". Options that the
/// rest of a job depends on are refused with the field that says the same.
std::string WhyNotAnOption(std::string_view option);

/// Why `text` cannot be a value in a burst-buffer directive, which has no quotes: a blank would end it, and the plugins
/// look for their keys anywhere in the line. Empty when it can.
std::string WhyNotInBufferDirective(std::string_view text);

/// Whether a text of one line may not hold it: also a NUL.
bool IsControlCharacter(char c);

/// `text` in quotes for a message, without control characters.
std::string Shown(std::string_view text);

/// A path as a file name pattern of Slurm that means exactly this path: `%` is doubled.
std::string SlurmPattern(const std::filesystem::path& path);

}  // namespace slipway::launcher
