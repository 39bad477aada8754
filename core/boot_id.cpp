#include "core/boot_id.h"

#include "core/files.h"

namespace slipway {

const std::string& BootId() {
  static const std::string id = [] {
    auto text = ReadFileIfPresent("/proc/sys/kernel/random/boot_id").value_or("");
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }();
  return id;
}

}  // namespace slipway
