#pragma once

#include "gpu/cuda/cuda_driver.hpp"
#include "hearth/bytes.hpp"

#include <string>

namespace hearth::cuda {

// What became of an image: a module, or the driver's error with the words of its compiler.
struct LoadedImage {
    CUmod_st* module = nullptr;
    int error = 0;
    std::string log;

    // The image is at fault, not the machine: another one may do.
    bool rejected() const noexcept;
};

// Loads a CUBIN, a fat binary or PTX text into the current context. The driver is not told how long an image is: one
// that ends before its own headers say so is rejected here.
LoadedImage load_image(const gpu::CudaDriver& driver, ByteView image);

}  // namespace hearth::cuda
