// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>

#include "harness/base/descriptor.hpp"

namespace stepleak {

/// A file of the kernel's about this process. Without stdio, whose buffers would be malloc'ed at boundaries. Opened for
/// one reading: a forked child has its own, and what stays open a step may close, and open as a file of the user's.
class ProcFile {
 public:
  explicit ProcFile(const char* path) : file_(::open(path, O_RDONLY | O_CLOEXEC)) {}
  [[nodiscard]] std::size_t read(char* into, std::size_t size) const {
    const auto count = file_.is_open() ? ::read(file_.number(), into, size) : 0;
    return count > 0 ? static_cast<std::size_t>(count) : 0;
  }

 private:
  Descriptor file_;
};

}  // namespace stepleak
