// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/base/descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <utility>

namespace stepleak {

Descriptor::~Descriptor() { (void)close(); }

int Descriptor::close() {
  if (!is_open()) return 0;
  return ::close(std::exchange(number_, -1)) == 0 ? 0 : errno;
}

void open_standard_streams() {
  int descriptor = 0;
  // Each takes the lowest free number: the first one above stderr has filled all gaps.
  do {
    descriptor = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (descriptor >= 0 && descriptor <= STDERR_FILENO) ::fcntl(descriptor, F_SETFD, 0);
  } while (descriptor >= 0 && descriptor <= STDERR_FILENO);
  if (descriptor > STDERR_FILENO) ::close(descriptor);
}

int moved_up(int descriptor) {
  constexpr int kLowest = 256;
  if (descriptor < 0) return descriptor;
  const int high = ::fcntl(descriptor, F_DUPFD_CLOEXEC, kLowest);
  if (high < 0) return descriptor;
  ::close(descriptor);
  return high;
}

int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace stepleak
