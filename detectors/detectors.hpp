// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "harness/analyse/detector.hpp"

namespace stepleak {

/// Every detector, the narrowest cause first: where two findings explain the same ledgers, the first wins.
[[nodiscard]] std::vector<std::unique_ptr<Detector>> all_detectors();

}  // namespace stepleak
