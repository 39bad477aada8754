/// The command line: parses it, calls the command, returns the exit code of the program.
#pragma once

namespace slipway::launcher {

/// Errors are caught and printed only here. Their kind gives the exit code.
int RunCommandLine(int argc, char** argv);

}  // namespace slipway::launcher
