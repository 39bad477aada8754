/// stdin, stdout and stderr exist in every process of ours.
#pragma once

namespace slipway {

/// Opens /dev/null as each of the descriptors 0, 1 and 2 that is closed. Otherwise the next file that is opened gets
/// the number, and what is printed goes into that file. Once, before any file is opened.
void OpenStandardStreams();

}  // namespace slipway
