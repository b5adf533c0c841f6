// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/cli/litter.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <new>
#include <string>
#include <system_error>

namespace stepleak {

// The paths, each with a zero behind it; one that was not written to its end (its writer was killed) has none.
struct Litter::Shared {
  std::atomic<std::size_t> size{0};

  [[nodiscard]] char* paths() { return reinterpret_cast<char*>(this + 1); }
};

Litter::Litter() : memory_(sizeof(Shared) + kCapacity), shared_(new (memory_.data()) Shared) {}

void Litter::add(std::string_view folder) noexcept {
  // A place of its own, whoever else writes now.
  const auto begin = shared_->size.fetch_add(folder.size() + 1);
  if (begin > kCapacity || kCapacity - begin < folder.size() + 1) return;
  std::memcpy(shared_->paths() + begin, folder.data(), folder.size());
}

void Litter::remove() const {
  const std::string_view paths(shared_->paths(), std::min(shared_->size.load(), kCapacity));
  for (std::size_t begin = 0; begin < paths.size();) {
    const auto end = paths.find('\0', begin);
    if (end == std::string_view::npos) return;
    const std::string folder(paths.substr(begin, end - begin));
    begin = end + 1;
    struct stat status {};
    const bool is_own = folder.starts_with('/') && ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
                        status.st_uid == ::geteuid();
    std::error_code busy;  // what cannot be removed is no more than litter
    if (is_own) std::filesystem::remove_all(folder, busy);
  }
}

}  // namespace stepleak
