// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/host/host_probe.hpp"

#include <unistd.h>

#include <array>
#include <cstdio>

#include "harness/probes/host/proc_file.hpp"

namespace stepleak {
namespace {

std::int64_t resident_bytes() {
  static const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  std::array<char, 128> text{};
  if (ProcFile("/proc/self/statm").read(text.data(), text.size() - 1) == 0) return 0;
  long long total = 0;
  long long resident = 0;
  return std::sscanf(text.data(), "%lld %lld", &total, &resident) == 2 ? resident * page : 0;
}

}  // namespace

std::string HostProbe::gap() const {
  if (heap_.is_seen()) return {};
  return "the host heap is not seen: " + heap_.allocator() +
         " has taken malloc over and tells nothing. What leaks outside tensors shows in Python objects and RSS only: "
         "run without it to judge that";
}

std::vector<SeriesKey> HostProbe::keys() const {
  std::vector<SeriesKey> keys{{Counter::resident_bytes}, {Counter::shared_bytes}};
  if (heap_.is_seen()) keys.emplace_back(Counter::heap_bytes);
  return keys;
}

void HostProbe::read(Moment moment, std::span<std::int64_t> row) {
  if (moment != Moment::after_collection) return;
  row[1] = shared_.bytes();
  if (!is_due()) return;
  row[0] = resident_bytes();
  if (heap_.is_seen()) row[2] = heap_.bytes_in_use();
}

}  // namespace stepleak
