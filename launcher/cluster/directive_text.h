/// Checks of text for directives: the comment lines at the head of a batch script, which no shell reads. Pure.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace slipway::launcher {

/// Why `text` cannot be the value of an `#SBATCH` option, even in quotes; empty when it can.
std::string WhyNotInDirective(std::string_view text);

/// Why `option` cannot be passed to sbatch; empty when it can: "--name", "--name=value", "-Xvalue". Options on which
/// the rest of the job depends are refused; the reason names the field to use.
std::string WhyNotAnOption(std::string_view option);

/// Why `text` cannot be a value in a burst-buffer directive; empty when it can. Directives have no quotes, so a blank
/// ends the value. The plugins look for their keys anywhere in the line.
std::string WhyNotInBufferDirective(std::string_view text);

/// `text` in quotes for a message, without control characters.
std::string Shown(std::string_view text);

/// The file name pattern of Slurm that means exactly this path: `%` is doubled.
std::string SlurmPattern(const std::filesystem::path& path);

}  // namespace slipway::launcher
