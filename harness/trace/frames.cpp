// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/trace/frames.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace stepleak {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 3> kOwners{"runtime", "library", "user"};

// Also what was typed in, which has no file.
bool is_python(const Frame& frame) {
  return frame.file.ends_with(".py") || frame.file.starts_with("<ipython-input-") ||
         frame.file.starts_with("<python-input-");
}

bool is_users(const Frame& frame) { return frame.owner == FrameOwner::user; }

template <typename Condition>
std::vector<Frame> frames_where(const std::vector<Frame>& frames, Condition is_wanted) {
  std::vector<Frame> wanted;
  std::copy_if(frames.begin(), frames.end(), std::back_inserter(wanted), is_wanted);
  return wanted;
}

}  // namespace

std::string_view to_string(FrameOwner owner) { return kOwners.at(static_cast<std::size_t>(owner)); }

std::optional<FrameOwner> parse_frame_owner(std::string_view name) {
  const auto found = std::find(kOwners.begin(), kOwners.end(), name);
  if (found == kOwners.end()) return std::nullopt;
  return static_cast<FrameOwner>(found - kOwners.begin());
}

std::vector<Frame> where_of(const std::vector<Frame>& stack) {
  auto named = frames_where(stack, [](const Frame& frame) { return frame.owner != FrameOwner::runtime; });
  if (std::any_of(named.begin(), named.end(), is_python)) named = frames_where(named, is_python);
  const auto innermost = std::find_if(named.begin(), named.end(), is_users);
  if (innermost == named.end()) return named;
  auto where = frames_where(named, is_users);
  // What calls the user's code, such as a test runner or a trainer's loop, took none of the memory.
  if (innermost != named.begin()) {
    where.push_back(named.front());
    where.back().folded_count = static_cast<int>(innermost - named.begin()) - 1;
  }
  return where;
}

std::vector<Frame> telling_frames(const std::vector<Frame>& frames) {
  if (!has_user_frame(frames)) return frames;
  return frames_where(frames, is_users);
}

std::vector<Frame> fingerprint_frames(const std::vector<Frame>& frames) {
  return frames_where(telling_frames(frames), [](const Frame& frame) {
    const auto& function = frame.function;
    return !function.empty() && function != "<listcomp>" && function != "<setcomp>" && function != "<dictcomp>";
  });
}

bool has_user_frame(const std::vector<Frame>& frames) { return std::any_of(frames.begin(), frames.end(), is_users); }

std::string place_of(const std::vector<Frame>& frames) {
  std::string place;
  for (const auto& frame : telling_frames(frames)) place += fmt::format("{}:{};", frame.file, frame.line);
  return place;
}

}  // namespace stepleak
