#pragma once

#include "hearth/cache.hpp"
#include "watch/condition.hpp"

#include <functional>
#include <string>

// How every compiler is answered from the cache.
//
//   question -> manifest -> first set of conditions that all hold -> result
//                        -> none: compile under watch -> conditions -> result, manifest
//
// Results have names before they are compiled: a question's results are numbered. Whoever finds no set that holds takes
// the next number, so that threads, processes and nodes with the same question wait for one compile. A result carries
// its conditions. Who waited in another world, with other files, sees that they do not hold there and goes on to the
// next number. So neither a lost manifest nor one that two have written at once can make a wrong answer.

namespace hearth::compilers {

// Everything that is known before the compile, but for what it will read.
struct Question {
    Key key;
    Bytes encoding{};  // Request::encoding(), for `hearth why`
    std::string label{};
    watch::Places places{};
};

// A compile that was watched.
struct Watched {
    Artifact artifact;
    // An Error: what it depends on is not known, so that it must not be kept.
    Result<watch::Conditions> depends_on;
};

struct Answer {
    Lookup lookup;
    std::string why_past_the_cache;
};

// `compile` may still run after its caller has left, as with Cache::get_or_compile().
Result<Answer> answer(Cache& cache, const Question& question, std::function<Result<Watched>()> compile,
                      const GetOptions& options = {});

}  // namespace hearth::compilers
