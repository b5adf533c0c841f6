// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/base/text.hpp"

namespace stepleak {

std::string printable(std::string text) {
  for (auto& letter : text) {
    if (static_cast<unsigned char>(letter) < 0x20 && letter != '\n' && letter != '\t') letter = '?';
  }
  return text;
}

}  // namespace stepleak
