// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <stdexcept>

#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

constexpr std::int64_t kSide = 16;

/// What a decoder in C knows of its caller.
struct DecodeJob {
  void* pixels = nullptr;
  bool is_truncated = true;
};

[[nodiscard]] bool read_rows(const DecodeJob& job) { return job.pixels != nullptr && !job.is_truncated; }

class Loader : protected SmallTraining {
 protected:
  explicit Loader(torch::Device device) : SmallTraining(device) {}

  void skip(const std::runtime_error& /*error*/) { ++skipped_count_; }

  std::int64_t skipped_count_ = 0;
};

class LoaderThatReleases : Loader {
 public:
  explicit LoaderThatReleases(torch::Device device) : Loader(device) {}

  void step() {
    try {
      image_ = load();
    } catch (const std::runtime_error& error) {
      skip(error);
    }
  }

 private:
  [[nodiscard]] torch::Tensor load() const {
    auto image = std::make_unique<torch::Tensor>(torch::zeros({3, kSide, kSide}, device_));
    const DecodeJob job{.pixels = image.release()};
    if (!read_rows(job)) throw std::runtime_error("truncated image");
    image.reset(static_cast<torch::Tensor*>(job.pixels));
    return *image;
  }

  torch::Tensor image_;
};

class LoaderThatLends : Loader {
 public:
  explicit LoaderThatLends(torch::Device device) : Loader(device) {}

  void step() {
    try {
      image_ = load();
    } catch (const std::runtime_error& error) {
      skip(error);
    }
  }

 private:
  [[nodiscard]] torch::Tensor load() const {
    const auto image = std::make_unique<torch::Tensor>(torch::zeros({3, kSide, kSide}, device_));
    const DecodeJob job{.pixels = image.get()};
    if (!read_rows(job)) throw std::runtime_error("truncated image");
    return *image;
  }

  torch::Tensor image_;
};

const Registration kLeak{{
    .name = "cpp_error_path_release",
    .story = "A loader releases its image to a C decoder and takes it back after the last row. On a truncated "
             "file it throws first, so nobody owns the image any more; here every file is truncated.",
    .report = "pytorch/vision#9383",
    .file = "scenarios/cpp/error_path_release.cpp",
    .expected = Verdict::leak,
    .kinds = {Kind::growth, Kind::reference_cycle},
    .lines = {"image.release()", "  auto image = std::make_unique<"},
    .bytes_per_step = 3 * kSide * kSide * sizeof(float),
    .set_up = set_up_of<LoaderThatReleases>(),
}};

const Registration kClean{{
    .name = "cpp_error_path_release_clean",
    .story = "The same loader lends its image to the decoder and stays the owner, so the exception frees it.",
    .report = "pytorch/vision#9383",
    .file = "scenarios/cpp/error_path_release.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .set_up = set_up_of<LoaderThatLends>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
