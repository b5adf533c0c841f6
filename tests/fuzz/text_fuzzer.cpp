// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// Short texts from a command line, and bytes from a step: sizes, devices, compressed traces, what is shown.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "harness/base/bytes.hpp"
#include "harness/base/errors.hpp"
#include "harness/base/gzip.hpp"
#include "harness/base/text.hpp"
#include "harness/trace/device.hpp"
#include "harness/trace/policy.hpp"

namespace {

template <typename Read>
void try_to(const Read& read) {
  try {
    read();
  } catch (const stepleak::Error&) {
    // refused, with what is wrong
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepleak;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto shown = printable(text);
  if (printable(shown) != shown) __builtin_trap();
  for (const char byte : shown) {
    if ((static_cast<unsigned char>(byte) < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f) __builtin_trap();
  }
  if (printable_line(text).find('\n') != std::string::npos) __builtin_trap();
  if (gunzipped(gzipped(text)) != text) __builtin_trap();
  try_to([&] { (void)gunzipped(text); });
  try_to([&] {
    if (parse_bytes(text) < 0) __builtin_trap();
  });
  try_to([&] {
    const auto device = parse_device(std::string(text));
    if (parse_device(to_string(device)) != device) __builtin_trap();
  });
  try_to([&] { (void)parse_effort(text); });
  return 0;
}
