// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/base/memory_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "harness/base/errors.hpp"

namespace stepleak {

MemoryFile::MemoryFile(const char* name) : file_(moved_up(::memfd_create(name, MFD_CLOEXEC))) {
  if (!file_.is_open()) throw failure_error(fmt::format("memfd_create: {}", std::strerror(errno)), "free some memory");
}

void MemoryFile::fill(std::string_view text) const {
  if (const int error = write_all(descriptor(), text); error != 0) {
    throw failure_error(fmt::format("a file in memory: {}", std::strerror(error)),
                        error == EFBIG ? kLargerFiles : "free some memory");
  }
  ::lseek(descriptor(), 0, SEEK_SET);
}

void MemoryFile::share() const { ::fcntl(descriptor(), F_SETFD, 0); }

bool MemoryFile::is_full() const {
  rlimit most{};
  return ::getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY && size() >= most.rlim_cur;
}

std::size_t MemoryFile::size() const {
  struct stat status {};
  ::fstat(descriptor(), &status);
  return static_cast<std::size_t>(status.st_size);
}

void MemoryFile::forget_all_but(std::size_t most) const {
  const auto size = this->size();
  if (size <= most) return;
  ::fallocate(descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(size - most));
}

std::string MemoryFile::tail(std::size_t most) const {
  const auto size = this->size();
  std::string text(std::min(size, most), '\0');
  const auto got = ::pread(descriptor(), text.data(), text.size(), static_cast<off_t>(size - text.size()));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

}  // namespace stepleak
