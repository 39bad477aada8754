/// How benchmarks end.
#pragma once

namespace slipway::bench {

/// What `body` returns; with a message on stderr 2 for options that are wrong, and 3 for what went wrong else.
int RunMain(int (*body)(int, char**), int argc, char** argv);

}  // namespace slipway::bench
