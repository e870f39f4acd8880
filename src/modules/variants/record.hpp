#pragma once

#include "hearth/variants.hpp"

namespace hearth::cuda {

// The question that a record answers: this code, on this kind of device, with this driver, for this class of launches,
// with these variants to choose from.
Request question_of(const VariantRecord& record, const Variants& variants);

// Whether what was found, which anybody may have written, is about what was asked: kernel, machine, class, and a winner
// that can be tried.
bool answers(const VariantRecord& found, const VariantRecord& asked);

// The record as an entry. `cost` is what finding out has cost: the policy weighs by it.
Artifact to_artifact(const VariantRecord& record, std::chrono::nanoseconds cost);

}  // namespace hearth::cuda
