/// What `slipway --on HOST` starts here: ssh and rsync with their words, and the line for the shell there. Pure.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "launcher/cli/remote/remotes.h"

namespace slipway::launcher {

using Words = std::vector<std::string>;

/// A command line without `--on HOST` and `--on=HOST`.
Words WithoutHost(const Words& words);

/// How ssh shares one connection: the path of the socket in the user's configuration, as `ssh -G` prints it. Nothing
/// when the user has none.
std::optional<std::string> ControlPathIn(std::string_view configuration);

/// Options of every ssh: no questions, and the shared connection. `own_path` is the socket of Slipway; empty: the
/// user's configuration decides.
Words SshOptions(const std::string& own_path);

/// Whether the command there gets a terminal.
enum class Terminal { kNone, kForced };
/// ssh with a line for the shell there.
Words SshCommand(const Remote& remote, const Words& options, Terminal terminal, const std::string& line);

/// The folder there for the project in `folder`, relative to the remote's root. Folders of one name on one or several
/// machines differ.
std::string ProjectFolder(const std::filesystem::path& folder, std::string_view host);

/// Line that starts the program in ROOT/`folder`, which it creates. Every word is quoted twice: for `sh`, and for the
/// login shell that starts `sh`. Runs are in ROOT/runs, unless the words name another place.
std::string RemoteLine(const Remote& remote, const std::string& folder, const Words& words);
/// Line that prints a file there.
std::string PrintFileLine(const Remote& remote, const std::string& file);

/// rsync from `folder` to ROOT/`target`. Excluded: what is never needed there, and what `.slipwayignore` in the folder
/// names, by rsync's rules. Links that lead out of the folder are left out.
enum class Sync { kList, kTransfer };
Words RsyncCommand(const Remote& remote, const Words& ssh_options, const std::filesystem::path& folder,
                   const std::string& target, bool has_ignore_file, Sync sync);

struct SyncedFile {
  std::string name;
  std::uint64_t bytes = 0;
};
struct SyncListing {
  std::vector<SyncedFile> files;
  Words remarks;  ///< what rsync says beside them, such as names of pipes that it leaves out
};
/// What RsyncCommand with kList has printed. Errors: Error(kEnvironment) for a file without its size.
SyncListing ReadListing(std::string_view text);
/// The first three: "rsync: skipping non-regular file "pipe"; and 2 more".
std::string TextOfRemarks(const Words& remarks);
/// Largest first, at most three: "data/train.h5 (1.2 GB), model.pt (90 MB)".
std::string LargestOf(std::vector<SyncedFile> files);
Bytes TotalOf(const std::vector<SyncedFile>& files);

}  // namespace slipway::launcher
