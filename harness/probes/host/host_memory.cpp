// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/probes/host/host_memory.hpp"

#include <fstream>
#include <limits>
#include <string>

namespace stepleak {
namespace {

// "max" (no limit) and a missing file read as the largest number.
std::int64_t number_in(const std::string& file) {
  std::ifstream in(file);
  std::int64_t number = 0;
  return in >> number ? number : std::numeric_limits<std::int64_t>::max();
}

HostMemory of_machine() {
  std::ifstream in("/proc/meminfo");
  HostMemory memory;
  std::int64_t available = 0;
  for (std::string name, unit; in >> name;) {
    std::int64_t kilobytes = 0;
    in >> kilobytes;
    std::getline(in, unit);
    if (name == "MemTotal:") memory.total_bytes = kilobytes * 1024;
    if (name == "MemAvailable:") available = kilobytes * 1024;
  }
  memory.used_bytes = memory.total_bytes - available;
  return memory;
}

}  // namespace

HostMemory host_memory() {
  auto memory = of_machine();
  const std::string folder = "/sys/fs/cgroup/";
  const auto limit = number_in(folder + "memory.max");
  if (limit < memory.total_bytes) memory = {limit, number_in(folder + "memory.current")};
  return memory;
}

}  // namespace stepleak
