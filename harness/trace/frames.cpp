// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/trace/frames.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace stepleak {
namespace {

bool is_python(const Frame& frame) { return frame.file.ends_with(".py"); }

}  // namespace

std::vector<Frame> user_frames(const std::vector<Frame>& stack) {
  const bool has_python =
      std::any_of(stack.begin(), stack.end(), [](const Frame& frame) { return frame.is_user && is_python(frame); });
  std::vector<Frame> frames;
  std::copy_if(stack.begin(), stack.end(), std::back_inserter(frames),
               [&](const Frame& frame) { return frame.is_user && (!has_python || is_python(frame)); });
  return frames;
}

std::string place_of(const std::vector<Frame>& frames) {
  std::string place;
  for (const auto& frame : frames) place += fmt::format("{}:{};", frame.file, frame.line);
  return place;
}

}  // namespace stepleak
