#pragma once

#include <string>

namespace hearth::test {

// NVVM IR with one kernel that stores a number, as every libnvvm from CUDA 12 takes it for every target.
inline std::string nvvm_text(int number = 7)
{
    return R"(target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define void @store(i32* %p) {
  store i32 )" +
           std::to_string(number) + R"(, i32* %p
  ret void
}
!nvvm.annotations = !{!0}
!0 = !{void (i32*)* @store, !"kernel", i32 1}
!nvvmir.version = !{!1}
!1 = !{i32 2, i32 0}
)";
}

}  // namespace hearth::test
