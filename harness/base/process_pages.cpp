// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/base/process_pages.hpp"

#include <unistd.h>

#include <array>
#include <cstdio>

#include "harness/base/proc_file.hpp"

namespace stepleak {

ProcessPages process_pages() {
  static const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  std::array<char, 128> text{};
  (void)ProcFile("/proc/self/statm").read(text.data(), text.size() - 1);
  long long mapped = 0;
  long long resident = 0;
  long long data = 0;
  if (std::sscanf(text.data(), "%lld %lld %*d %*d %*d %lld", &mapped, &resident, &data) != 3) return {};
  return {mapped * page, resident * page, data * page};
}

}  // namespace stepleak
