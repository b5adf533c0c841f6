// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/sources/cpp_gradients.hpp"

namespace stepleak {
namespace {

// Its place among the arguments of the method and of the function; torch/csrc/autograd/autograd.h, ATen/core/Tensor.h.
constexpr std::size_t kOfMethod = 2;
constexpr std::size_t kOfFunction = 3;

bool makes_graphs(const TokenAt& name) {
  const auto& file = *name.file;
  const auto open = name.token + 1;
  if (!file.token(open).is("(") || file.partner(open) == open) return false;
  const auto& before = file.token(name.token - 1);
  const auto place = before.is(".") || before.is("->") ? kOfMethod : kOfFunction;
  const auto arguments = file.parts({open + 1, file.partner(open)}, false);
  return arguments.size() > place && file.token(arguments[place].first).is("true");
}

}  // namespace

std::optional<TokenAt> call_making_graphs(const CppStep& step, const CppNames& names) {
  std::optional<TokenAt> only;
  for (const auto& use : names.project().uses("backward")) {
    if (!step.contains(use) || !makes_graphs(use)) continue;
    if (only.has_value()) return std::nullopt;
    only = use;
  }
  return only;
}

}  // namespace stepleak
