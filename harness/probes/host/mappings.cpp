// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/host/mappings.hpp"

#include <array>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "harness/base/mapped_memory.hpp"
#include "harness/base/proc_file.hpp"

namespace stepleak {
namespace {

bool names(std::string_view line, std::string_view what) { return line.find(what) != std::string_view::npos; }

// `7f00-7f10 rw-s 00000000 00:1a 33  /dev/shm/torch_1_2_3 (deleted)`. Shared memory without a file is /dev/zero's.
void add_line(std::string_view line, MappedBytes& bytes) {
  unsigned long long from = 0;
  unsigned long long to = 0;
  char rights[5] = {};
  if (std::sscanf(line.data(), "%llx-%llx %4s", &from, &to, rights) != 3) return;
  const auto size = static_cast<std::int64_t>(to - from);
  if (names(line, " /dev/shm/")) {
    bytes.shared += size;
  } else if (rights[1] == 'w' && rights[2] != 'x' && !names(line, " [stack]") &&
             (!names(line, " /dev/") || names(line, " /dev/zero"))) {
    bytes.writable += size;
  }
}

MappedBytes read_mappings() {
  const ProcFile file("/proc/self/maps");
  std::array<char, 16384> text;  // a line is at most a path long
  MappedBytes bytes;
  std::size_t held = 0;
  while (const auto count = file.read(text.data() + held, text.size() - held)) {
    std::string_view rest(text.data(), held + count);
    for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      add_line(rest.substr(0, end), bytes);
      rest.remove_prefix(end + 1);
    }
    held = rest.size();
    std::memmove(text.data(), rest.data(), held);
  }
  return bytes;
}

}  // namespace

MappedBytes Mappings::bytes(const ProcessPages& pages, std::optional<std::int64_t> of_malloc) {
  const auto last = std::exchange(pages_, pages);
  const auto more = pages.data - last.data;
  // Without a new mapping, what became writable was mapped before.
  const bool is_private = pages.mapped == last.mapped || pages.mapped - last.mapped == more;
  const bool is_unsure = std::exchange(is_to_check_, false) && pages.data == 0;
  taken_ += more;
  bool is_mallocs = true;
  if (of_malloc) is_mallocs = std::exchange(taken_, 0) == *of_malloc - std::exchange(of_malloc_, *of_malloc);
  if (std::exchange(is_known_, true) && is_private && is_mallocs && !is_unsure) {
    bytes_.writable += more;
  } else {
    bytes_ = read_mappings();
  }
  return {.shared = bytes_.shared, .writable = bytes_.writable - own_mapped_bytes()};
}

}  // namespace stepleak
