// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/base/gzip.hpp"

#include <zlib.h>

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
  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) throw failure_error("no memory to read a trace", "free some memory");
  set_input(stream, bytes);
  std::string output;
  const int answer = pump(stream, output, [](z_stream* from) { return inflate(from, Z_NO_FLUSH); });
  inflateEnd(&stream);
  if (output.size() > kMostBytes) throw failure_error("it unfolds to more than a gibibyte");
  if (answer != Z_STREAM_END) throw failure_error("it is no gzip file, or it is cut short");
  return output;
}

}  // namespace stepleak
