// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace stepleak {

/// Memory in /dev/shm, as torch shares storages; given back with the object.
class PosixSharedMemory {
 public:
  explicit PosixSharedMemory(std::size_t bytes) : bytes_(bytes) {
    const auto name = "/stepleak-test-" + std::to_string(::getpid());
    const int file = ::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    ::shm_unlink(name.c_str());
    const bool is_sized = ::ftruncate(file, static_cast<off_t>(bytes)) == 0;
    memory_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    if (!is_sized || memory_ == MAP_FAILED) throw std::runtime_error("no shared memory");
  }
  PosixSharedMemory(const PosixSharedMemory&) = delete;
  PosixSharedMemory& operator=(const PosixSharedMemory&) = delete;
  ~PosixSharedMemory() { ::munmap(memory_, bytes_); }

 private:
  std::size_t bytes_;
  void* memory_;
};

}  // namespace stepleak
