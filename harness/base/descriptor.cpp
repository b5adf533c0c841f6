// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/base/descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace stepleak {

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

}  // namespace stepleak
