// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace stepleak {

/// Where a value is among those of before, for tables that name each once; it is put behind them where it is none.
template <typename Value>
[[nodiscard]] std::ptrdiff_t index_in(std::vector<Value>& values, const Value& value) {
  const auto known = std::find(values.begin(), values.end(), value);
  const auto index = known - values.begin();
  if (known == values.end()) values.push_back(value);
  return index;
}

}  // namespace stepleak
