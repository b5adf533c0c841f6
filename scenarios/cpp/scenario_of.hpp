// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>

#include "harness/scenario/scenario.hpp"

namespace stepleak::scenarios {

[[nodiscard]] inline torch::Device to_torch(Device device) {
  return device.type == DeviceType::cuda ? torch::Device(torch::kCUDA, static_cast<c10::DeviceIndex>(device.index))
                                         : torch::Device(torch::kCPU);
}

/// Makes a scenario's set-up from a class with a constructor taking a torch::Device and a `step()`.
template <typename Trainer>
[[nodiscard]] std::function<std::function<void()>(Device)> set_up_of() {
  return [](Device device) -> std::function<void()> {
    auto trainer = std::make_shared<Trainer>(to_torch(device));
    return [trainer] { trainer->step(); };
  };
}

}  // namespace stepleak::scenarios
