// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/host/host_probe.hpp"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <array>
#include <cstdio>

namespace stepleak {
namespace {

std::int64_t heap_in_use() {
  const auto info = ::mallinfo2();
  return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
}

// Read without stdio: a FILE's buffer would be malloc'ed at every boundary.
std::int64_t resident_bytes() {
  static const int statm = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  static const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  std::array<char, 128> text{};
  if (::pread(statm, text.data(), text.size() - 1, 0) <= 0) return 0;
  long long total = 0;
  long long resident = 0;
  return std::sscanf(text.data(), "%lld %lld", &total, &resident) == 2 ? resident * page : 0;
}

}  // namespace

std::vector<SeriesKey> HostProbe::keys() const {
  return {{Counter::heap_bytes}, {Counter::resident_bytes}, {Counter::shared_bytes}};
}

void HostProbe::read(Moment moment, std::span<std::int64_t> row) {
  if (moment != Moment::after_collection) return;
  row[2] = shared_.bytes();
  if (!is_due()) return;
  row[0] = heap_in_use();
  row[1] = resident_bytes();
}

}  // namespace stepleak
