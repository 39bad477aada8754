#include "runtime/report/sums_file.h"

#include <fcntl.h>

#include <cstdio>

#include "core/error.h"
#include "core/files.h"

namespace slipway::runtime {

void SumsFile::Append(const SumsLine& line) {
  if (failed_) return;
  try {
    std::string text;
    if (!fd_) {
      fd_ = OpenFile(path_, O_WRONLY | O_CREAT | O_APPEND);
      text = FormatSumsHeader(header_);
    }
    WriteAll(fd_.get(), text + FormatSumsLine(line), path_);
  } catch (const Error& error) {
    failed_ = true;
    fd_ = UniqueFd();
    std::fprintf(stderr,
                 "slipway: warning: rank %d writes no check sums of team '%s' from step %lld on: %s; the training goes "
                 "on. Make room there before the next run, or set trace.sums to 0\n",
                 header_.rank, header_.team.c_str(), static_cast<long long>(line.step), error.message().c_str());
  }
}

}  // namespace slipway::runtime
