// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace stepleak {

enum class DeviceType : std::uint8_t { host, cuda };

/// One memory that is watched: the host's ("cpu") or one GPU's ("cuda:0"). A plain value.
struct Device {
  DeviceType type = DeviceType::host;
  std::int16_t index = 0;

  auto operator<=>(const Device&) const = default;
};

inline constexpr Device kHost{};

/// "cpu" or "cuda:1".
[[nodiscard]] std::string to_string(Device device);

/// Reads "cpu", "cuda" (index 0) or "cuda:N". Throws a usage error that names the accepted forms.
[[nodiscard]] Device parse_device(std::string_view text);

}  // namespace stepleak
