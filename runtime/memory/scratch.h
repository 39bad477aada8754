/// Memory for the length of one operation, not initialised: pages that are not used cost nothing.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <exception>
#include <new>

#include "core/memory_left.h"

namespace slipway::runtime {

class Scratch {
 public:
  /// Errors: MemoryError, std::bad_alloc.
  explicit Scratch(std::size_t bytes) {
    RequireMemory(Bytes{bytes}, "the buffer of an exchange");
    data_ = static_cast<char*>(std::malloc(bytes > 0 ? bytes : 1));
    if (data_ == nullptr) throw std::bad_alloc();
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  /// When an error ends the operation, messages may still be on their way into the memory: then it is given up.
  ~Scratch() {
    if (std::uncaught_exceptions() == exceptions_) std::free(data_);
  }

  char* data() { return data_; }

 private:
  char* data_ = nullptr;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace slipway::runtime
