#pragma once

// Functions that only the real library can do. Calls are passed on with all their arguments, in whatever registers.
// Included by one source of each drop-in, which first defines:
//   HEARTH_FORWARDED(X)            X(name) for each of them
//   HEARTH_FORWARDED_FAILURE       what they return if the real library cannot be called

#include "real.hpp"

#include <cstddef>
#include <cstring>

namespace {

int nothing_there()
{
    return HEARTH_FORWARDED_FAILURE;
}

constexpr const char* k_names[] = {
#define HEARTH_NAME(name) #name,
    HEARTH_FORWARDED(HEARTH_NAME)
#undef HEARTH_NAME
};

}  // namespace

// The real function of each, once it is known.
extern "C" {
__attribute__((visibility("hidden"))) void* hearth_forward_targets[sizeof k_names / sizeof k_names[0]] = {};

__attribute__((visibility("hidden"))) void* hearth_forward_find(std::size_t number) noexcept
try {
    void* target = hearth::proxy::real_function(k_names[number]);
    if (target == nullptr)
        target = reinterpret_cast<void*>(&nothing_there);
    // Two threads may come here at once: both write the same. relaxed: a pointer to code needs no other data.
    __atomic_store_n(&hearth_forward_targets[number], target, __ATOMIC_RELAXED);
    return target;
} catch (...) {
    return reinterpret_cast<void*>(&nothing_there);  // out of memory, but only this time
}
}

bool hearth::proxy::was_forwarded(const char* name)
{
    for (std::size_t i = 0; i < sizeof k_names / sizeof k_names[0]; ++i)
        if (std::strcmp(k_names[i], name) == 0)
            return __atomic_load_n(&hearth_forward_targets[i], __ATOMIC_RELAXED) != nullptr;
    return false;
}

#if defined(__aarch64__)

asm(R"(
    .text
    .p2align 2
hearth_forward_first:
    stp x29, x30, [sp, #-224]!
    mov x29, sp
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    str x8, [sp, #80]
    stp q0, q1, [sp, #96]
    stp q2, q3, [sp, #128]
    stp q4, q5, [sp, #160]
    stp q6, q7, [sp, #192]
    mov x0, x17
    bl hearth_forward_find
    mov x16, x0
    ldp q6, q7, [sp, #192]
    ldp q4, q5, [sp, #160]
    ldp q2, q3, [sp, #128]
    ldp q0, q1, [sp, #96]
    ldr x8, [sp, #80]
    ldp x6, x7, [sp, #64]
    ldp x4, x5, [sp, #48]
    ldp x2, x3, [sp, #32]
    ldp x0, x1, [sp, #16]
    ldp x29, x30, [sp], #224
    br x16

    .macro hearth_forward name, number
    .globl \name
    .type \name, %function
    .p2align 2
\name:
    hint #34  // bti c: may be called through a pointer
    mov x17, #\number
    adrp x16, hearth_forward_targets
    add x16, x16, :lo12:hearth_forward_targets
    ldr x16, [x16, x17, lsl #3]
    cbz x16, hearth_forward_first
    br x16
    .size \name, . - \name
    .endm
)");

#elif defined(__x86_64__)

asm(R"(
    .text
    .p2align 4
hearth_forward_first:
    pushq %rbp
    movq %rsp, %rbp
    subq $192, %rsp
    movq %rdi, 0(%rsp)
    movq %rsi, 8(%rsp)
    movq %rdx, 16(%rsp)
    movq %rcx, 24(%rsp)
    movq %r8, 32(%rsp)
    movq %r9, 40(%rsp)
    movq %rax, 48(%rsp)
    movups %xmm0, 64(%rsp)
    movups %xmm1, 80(%rsp)
    movups %xmm2, 96(%rsp)
    movups %xmm3, 112(%rsp)
    movups %xmm4, 128(%rsp)
    movups %xmm5, 144(%rsp)
    movups %xmm6, 160(%rsp)
    movups %xmm7, 176(%rsp)
    movq %r10, %rdi
    call hearth_forward_find
    movq %rax, %r11
    movups 176(%rsp), %xmm7
    movups 160(%rsp), %xmm6
    movups 144(%rsp), %xmm5
    movups 128(%rsp), %xmm4
    movups 112(%rsp), %xmm3
    movups 96(%rsp), %xmm2
    movups 80(%rsp), %xmm1
    movups 64(%rsp), %xmm0
    movq 48(%rsp), %rax
    movq 40(%rsp), %r9
    movq 32(%rsp), %r8
    movq 24(%rsp), %rcx
    movq 16(%rsp), %rdx
    movq 8(%rsp), %rsi
    movq 0(%rsp), %rdi
    leave
    jmp *%r11

    .macro hearth_forward name, number
    .globl \name
    .type \name, @function
    .p2align 4
\name:
    endbr64
    movq hearth_forward_targets + 8 * \number(%rip), %r11
    testq %r11, %r11
    movl $\number, %r10d
    jz hearth_forward_first
    jmp *%r11
    .size \name, . - \name
    .endm
)");

#else
#error "The drop-in library knows aarch64 and x86-64"
#endif

// In the order of HEARTH_FORWARDED.
asm(R"(
    .set hearth_forward_number, 0
    .macro hearth_forward_next name
    hearth_forward \name, hearth_forward_number
    .set hearth_forward_number, hearth_forward_number + 1
    .endm
)");
#define HEARTH_NAME(name) asm("hearth_forward_next " #name);
HEARTH_FORWARDED(HEARTH_NAME)
#undef HEARTH_NAME
