// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// For the .cpp files of this folder only: how a stored run writes its record passes.

#include "harness/trace/json_values.hpp"
#include "harness/trace/recording.hpp"

namespace stepleak {

[[nodiscard]] Json pass_to_json(const Pass& pass);
[[nodiscard]] Pass pass_from_json(const Json& json);
[[nodiscard]] Json recording_to_json(const Recording& recording);
[[nodiscard]] Recording recording_from_json(const Json& json);

}  // namespace stepleak
