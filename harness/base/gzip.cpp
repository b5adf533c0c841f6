// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/base/gzip.hpp"

#include <zlib.h>

#include <utility>

#include "harness/base/errors.hpp"

namespace stepleak {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib's way to ask for gzip's header
// Larger than any trace; a few kilobytes may unfold to more than there is memory.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;
constexpr std::size_t kChunk = std::size_t{1} << 16;

// zlib takes its input by a pointer that it does not write through.
void set_input(z_stream& stream, std::string_view text) {
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
}

// Runs `step` until it gives no more output, and returns its last answer.
template <typename Step>
int pump(z_stream& stream, std::string& output, const Step& step) {
  int answer = Z_OK;
  do {
    const auto size = output.size();
    output.resize(size + kChunk);
    stream.next_out = reinterpret_cast<Bytef*>(output.data() + size);
    stream.avail_out = static_cast<uInt>(kChunk);
    answer = step(&stream);
    output.resize(output.size() - stream.avail_out);
  } while (answer == Z_OK && stream.avail_out == 0 && output.size() <= kMostBytes);
  return answer;
}

Error cut_or_none() { return failure_error("it is no gzip file, or it is cut short"); }

}  // namespace

std::string gzipped(std::string_view text) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw failure_error("no memory to compress a trace", "free some memory");
  }
  set_input(stream, text);
  std::string output;
  pump(stream, output, [](z_stream* to) { return deflate(to, Z_FINISH); });
  deflateEnd(&stream);
  return output;
}

std::string gunzipped(std::string_view bytes) {
  auto unfolded = gunzipped_so_far(bytes);
  if (unfolded.is_cut) throw cut_or_none();
  return std::move(unfolded.text);
}

Unfolded gunzipped_so_far(std::string_view bytes) {
  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) throw failure_error("no memory to read a trace", "free some memory");
  set_input(stream, bytes);
  Unfolded unfolded;
  const int answer = pump(stream, unfolded.text, [](z_stream* from) { return inflate(from, Z_NO_FLUSH); });
  const bool is_used_up = stream.avail_in == 0;
  inflateEnd(&stream);
  if (unfolded.text.size() > kMostBytes) throw failure_error("it unfolds to more than a gibibyte");
  unfolded.is_cut = answer != Z_STREAM_END;
  if (!unfolded.is_cut && !is_used_up) {
    throw failure_error("something follows its end: give each trace as a file of its own");
  }
  const bool is_damaged = answer != Z_OK && answer != Z_BUF_ERROR;
  if (unfolded.is_cut && (is_damaged || !is_used_up || unfolded.text.empty())) throw cut_or_none();
  return unfolded;
}

}  // namespace stepleak
