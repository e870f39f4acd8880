#pragma once

#include "gpu/cuda/cuda_driver.hpp"
#include "hearth/bytes.hpp"

#include <string>

namespace hearth::cuda {

// What became of an image: a module, or the driver's error with its compiler's log.
struct LoadedImage {
    CUmod_st* module = nullptr;
    int error = 0;
    std::string log;

    // The image is at fault, not the machine: another one may do.
    bool rejected() const noexcept;
};

// Loads a CUBIN, a fat binary or PTX text into the current context. The driver is not told how long an image is, so an
// image that is shorter than its own headers say is rejected here.
LoadedImage load_image(const gpu::CudaDriver& driver, ByteView image);

}  // namespace hearth::cuda
