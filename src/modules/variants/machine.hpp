#pragma once

#include "gpu/cuda/cuda_driver.hpp"

namespace hearth::cuda {

// What a measurement holds for, beside the code: another kind of device or another driver is measured anew.
struct Machine {
    std::string device;  // "NVIDIA H200"
    std::string driver;  // "580.159.04", or "CUDA 13.0" if its file does not tell
};

// Of the current context.
Machine current_machine(const gpu::CudaDriver& driver);

}  // namespace hearth::cuda
