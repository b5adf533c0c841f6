// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace stepleak {

/// Device memory that the driver accounts to this process, contexts included, in bytes; rounded to 2 MiB chunks.
/// Nothing where NVML cannot be loaded, or does not know this process (another pid namespace, MIG).
/// `bus_id`: as pci_bus_id() gives it. Thread-safe; a call takes some tens of microseconds.
[[nodiscard]] std::optional<std::int64_t> process_memory(const std::string& bus_id);

/// Memory on the device that belongs to other processes; nothing where NVML does not answer.
[[nodiscard]] std::optional<std::int64_t> memory_of_others(const std::string& bus_id);

}  // namespace stepleak
