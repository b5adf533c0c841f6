// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>

namespace stepleak {

/// A file of the kernel's about this process. Without stdio, whose buffers would be malloc'ed at boundaries. Opened for
/// one reading: a forked child has its own, and what stays open a step may close, and open as a file of the user's.
class ProcFile {
 public:
  explicit ProcFile(const char* path) : file_(::open(path, O_RDONLY | O_CLOEXEC)) {}
  ProcFile(const ProcFile&) = delete;
  ProcFile& operator=(const ProcFile&) = delete;
  ~ProcFile() {
    if (file_ >= 0) ::close(file_);
  }
  [[nodiscard]] std::size_t read(char* into, std::size_t size) const {
    const auto count = file_ >= 0 ? ::read(file_, into, size) : 0;
    return count > 0 ? static_cast<std::size_t>(count) : 0;
  }

 private:
  int file_;
};

}  // namespace stepleak
