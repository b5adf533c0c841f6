// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <string>
#include <string_view>

namespace stepleak {

/// Why CUPTI gave no subscription, with what to do about it. `other`: who holds the only one, as CUPTI names it, or
/// empty; `name`: what CUPTI calls the status.
[[nodiscard]] std::string cupti_refusal(CUptiResult status, const std::string& other, std::string_view name);

}  // namespace stepleak
