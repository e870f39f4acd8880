"""cuda.core's Program of NVVM IR, on a machine that need not have a GPU."""

from needs import digest, needs

IR = """target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-\
f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define void @store(i32* %p) {
  store i32 7, i32* %p
  ret void
}
!nvvm.annotations = !{!0}
!0 = !{void (i32*)* @store, !"kernel", i32 1}
!nvvmir.version = !{!1}
!1 = !{i32 2, i32 0}
"""

with needs():
    from cuda.bindings import nvvm
    from cuda.core import Program, ProgramOptions

    print("versions", nvvm.version(), nvvm.ir_version())

for target in ("sm_80", "sm_90", "sm_100"):
    code = Program(IR, "nvvm", ProgramOptions(arch=target, name="store")).compile("ptx").code
    print(target, digest(code))
try:
    Program(IR + "garbage", "nvvm", ProgramOptions(arch="sm_80", name="broken")).compile("ptx")
except Exception as error:
    print("error", error)
