// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/trace/device.hpp"

#include <fmt/format.h>

#include <charconv>

#include "harness/base/errors.hpp"

namespace stepleak {

std::string to_string(Device device) {
  return device.type == DeviceType::host ? "cpu" : fmt::format("cuda:{}", device.index);
}

Device parse_device(std::string_view text) {
  if (text == "cpu") return kHost;
  if (text == "cuda") return {DeviceType::cuda, 0};
  if (text.starts_with("cuda:")) {
    Device device{DeviceType::cuda, 0};
    const auto number = text.substr(5);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), device.index);
    if (error == std::errc() && end == number.data() + number.size() && device.index >= 0) return device;
  }
  throw usage_error(fmt::format("'{}' is no device", text), "use cpu, cuda or cuda:N");
}

}  // namespace stepleak
