#pragma once

#include "hearth/cuda.hpp"

#include <chrono>
#include <functional>
#include <optional>

// Kernels that get faster while they run. A kernel declares other ways to compile or launch it: its variants. The first
// is the program as it is, and runs at once. The others are compiled in the background, timed on the program's own
// launches, and one of them takes over if it is better by more than the noise. docs/variants.md.
//
// Opt-in, because it may change results: variants may differ in the last bits of floating point, by --use_fast_math, by
// another order of a sum in another block size, or only by another choice of fused operations. Declare only variants
// whose results you accept, and any of which may run in any launch.

namespace hearth::cuda {

// A run-time argument that is compiled in as a constant: -Dmacro=value.
struct Constant {
    enum class Type : std::uint8_t { integer, natural, real };  // signed, unsigned (1, 2, 4 or 8 bytes); float, double

    std::string macro;
    std::size_t argument;  // its place among the kernel's arguments, counted from 0; the kernel still gets it
                           // (all variants of a kernel together have at most 16 constants)
    Type type = Type::integer;
};

// From the launch that the program asks for to that which a variant needs for the same work. It is called at every
// launch of its variant, on the launching thread. A record does not know it: give a variant another name if it changes.
using Relaunch = std::function<LaunchConfig(const LaunchConfig& asked, std::span<const Argument> arguments)>;

struct Variant {
    std::string name;                    // "tile 64": one of its own; "first" is the program as it is
    std::vector<std::string> options{};  // behind the program's: "-DTILE=64", "-maxrregcount=64", "--use_fast_math"
    std::vector<Constant> constants{};   // a shape class for each set of values, at most Variants::max_classes
    Relaunch relaunch{};                 // empty: launched as the program asks
};

// The variant that differs only by constants.
inline Variant specialise(std::vector<Constant> constants, std::string name = "specialised")
{
    return {.name = std::move(name), .options = {}, .constants = std::move(constants), .relaunch = {}};
}

// Launches are compared only with launches of the same class. Without a function of one's own that is the number of
// threads, to the next power of two, and the values of all constants. It returns text (UTF-8), as names are: a record
// of other bytes is not found again.
using ShapeClass = std::function<std::string(const LaunchConfig& asked, std::span<const Argument> arguments)>;

struct Variants {
    std::vector<Variant> others{};
    // Launches of a class before its variants are compiled. Empty: CacheOptions::variants_after (100; 0: never).
    std::optional<std::uint32_t> after_launches{};
    double least_gain = 0.03;        // a variant has to be this much faster to take over, for certain: 0 to 1
    std::uint32_t max_classes = 32;  // in one context; what comes later runs as the program asks
    ShapeClass shape_class{};
};

enum class VariantState : std::uint8_t {
    waiting,   // for its compile, or for launches
    measured,  // and no better
    winner,
    dropped,  // it did not compile, load or launch: `why` says
};

HEARTH_API std::string_view to_string(VariantState state);

struct MeasuredVariant {
    std::string name;
    VariantState state = VariantState::waiting;
    std::uint32_t launches = 0;          // that were timed
    std::chrono::nanoseconds median{0};  // of those launches
    // Its time beside the first's of the same round: the median of all rounds, and the interval that holds the true
    // median with a certainty of 99.9 %. 0: not measured. A variant wins if `highest` is at most 1 - least_gain.
    double ratio = 0;
    double lowest = 0;
    double highest = 0;
    std::string why{};  // it was dropped
    Key entry{};        // its compiled program, where that is known
};

// What is known about one class of launches. Kept as an entry of the cache once it is settled: the next process, on any
// machine with the same kind of device and the same driver, starts with the winner.
struct VariantRecord {
    std::string kernel;
    Key entry;                                // of the first: the compiled program
    std::string shape;                        // the class of launches
    std::string device;                       // "NVIDIA H200"
    std::string driver;                       // "580.159.04"
    std::string winner;                       // a variant's name; "first": no variant is better. Empty: not settled
    std::uint64_t launches = 0;               // until it was settled; 0: it was found in the cache
    std::vector<MeasuredVariant> variants{};  // the first, then those that were declared
};

// The record that an entry holds; none if it is another kind of entry. `hearth tune` lists them.
HEARTH_API std::optional<VariantRecord> variant_record(const Artifact& artifact);
// Whether an entry of this metadata is such a record.
HEARTH_API bool is_variant_record(const Metadata& metadata);

}  // namespace hearth::cuda
