// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>

#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

/// A batch as a kernel for images samples it.
class Texture {
 public:
  explicit Texture(const torch::Tensor& images) {
    cudaResourceDesc of{};
    of.resType = cudaResourceTypeLinear;
    of.res.linear.devPtr = images.data_ptr();
    of.res.linear.desc = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    of.res.linear.sizeInBytes = images.nbytes();
    cudaTextureDesc how{};
    how.readMode = cudaReadModeElementType;
    C10_CUDA_CHECK(cudaCreateTextureObject(&object_, &of, &how, nullptr));
  }

 protected:
  cudaTextureObject_t object_ = 0;
};

class TextureThatIsDestroyed : public Texture {
 public:
  using Texture::Texture;
  TextureThatIsDestroyed(const TextureThatIsDestroyed&) = delete;
  TextureThatIsDestroyed& operator=(const TextureThatIsDestroyed&) = delete;
  ~TextureThatIsDestroyed() { (void)cudaDestroyTextureObject(object_); }
};

template <typename Sampled>
class ImageTraining : SmallTraining {
 public:
  explicit ImageTraining(torch::Device device) : SmallTraining(device) {}

  void step() {
    const c10::cuda::CUDAGuard on_device(device_);
    const auto inputs = torch::rand({kBatch, kWidth}, device_);
    const Sampled images(inputs);
    optimizer_.zero_grad();
    torch::mse_loss(model_->forward(inputs), inputs).backward();
    optimizer_.step();
  }
};

const Registration kLeak{{
    .name = "cpp_cuda_textures_never_destroyed",
    .story = "A kernel for images binds each batch to a texture object and never destroys it: a handle a step, which "
             "takes memory of the driver and none of torch's.",
    .report = "tromp/cuckoo#69",
    .file = "scenarios/cpp/cuda/textures_never_destroyed.cpp",
    .expected = Verdict::leak,
    .kinds = {Kind::raw_cuda},
    .lines = {"cudaCreateTextureObject(&object_", "const Sampled images(inputs);"},
    .needs_cuda = true,
    .set_up = set_up_of<ImageTraining<Texture>>(),
}};

const Registration kClean{{
    .name = "cpp_cuda_textures_never_destroyed_clean",
    .story = "The same texture is destroyed at the end of the step.",
    .report = "tromp/cuckoo#69",
    .file = "scenarios/cpp/cuda/textures_never_destroyed.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .needs_cuda = true,
    .set_up = set_up_of<ImageTraining<TextureThatIsDestroyed>>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
