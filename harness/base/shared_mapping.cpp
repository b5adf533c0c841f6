// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/base/shared_mapping.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "harness/base/errors.hpp"

namespace stepleak {

SharedMapping::SharedMapping(std::size_t size, int file)
    : data_(::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_NORESERVE | (file == kNoFile ? MAP_ANONYMOUS : 0), file, 0)),
      size_(size) {
  if (data_ == MAP_FAILED) {
    throw failure_error(fmt::format("no memory to share with a worker: {}", std::strerror(errno)), "free some memory");
  }
}

SharedMapping::~SharedMapping() { ::munmap(data_, size_); }

}  // namespace stepleak
