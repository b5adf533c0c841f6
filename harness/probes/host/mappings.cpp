// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/host/shared_memory.hpp"

#include <array>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "harness/base/proc_file.hpp"

namespace stepleak {
namespace {

// `7f00-7f10 rw-s 00000000 00:1a 33  /dev/shm/torch_1_2_3 (deleted)`
std::int64_t shared_bytes_of(std::string_view line) {
  if (line.find(" /dev/shm/") == std::string_view::npos) return 0;
  unsigned long long from = 0;
  unsigned long long to = 0;
  return std::sscanf(line.data(), "%llx-%llx", &from, &to) == 2 ? static_cast<std::int64_t>(to - from) : 0;
}

std::int64_t read_mappings() {
  const ProcFile file("/proc/self/maps");
  std::array<char, 16384> text;  // a line is at most a path long
  std::int64_t bytes = 0;
  std::size_t held = 0;
  while (const auto count = file.read(text.data() + held, text.size() - held)) {
    std::string_view rest(text.data(), held + count);
    for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      bytes += shared_bytes_of(rest.substr(0, end));
      rest.remove_prefix(end + 1);
    }
    held = rest.size();
    std::memmove(text.data(), rest.data(), held);
  }
  return bytes;
}

}  // namespace

std::int64_t SharedMemory::bytes(std::int64_t mapped) {
  if (mapped != mapped_) {
    mapped_ = mapped;
    bytes_ = read_mappings();
  }
  return bytes_;
}

}  // namespace stepleak
