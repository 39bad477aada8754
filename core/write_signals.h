/// The signals by which the kernel ends a process whose write fails. When they are ignored, the write fails with EPIPE
/// or EFBIG instead. ChildProcess::Spawn starts programs with the defaults.
#pragma once

namespace slipway {

/// SIGXFSZ: a file would become larger than RLIMIT_FSIZE (`ulimit -f`) allows.
void IgnoreFileSizeSignal();
/// SIGPIPE: the reader of a pipe is gone. For commands that have work to finish without a reader, too.
void IgnorePipeSignal();
/// Whether this process has called IgnorePipeSignal().
bool WorksWithoutReader();
/// Both as at the start of a process: for one that is about to become a program.
void ResetWriteSignals();

}  // namespace slipway
