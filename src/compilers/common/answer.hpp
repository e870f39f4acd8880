#pragma once

#include "hearth/cache.hpp"
#include "hearth/explain.hpp"
#include "watch/condition.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// How every compiler is answered from the cache.
//
//   question -> its first result, or by the manifest the one whose conditions all hold here
//            -> none: compile under watch -> conditions -> result, manifest
//
// Results have names before they are compiled: a question's results are numbered. Whoever finds none that holds takes
// the next number, so that threads, processes and nodes with the same question wait for one compile. A result carries
// its conditions. Who waited in another world, with other files, sees that they do not hold there and goes on to the
// next number. So neither a lost manifest nor one that two have written at once can make a wrong answer.

namespace hearth::compilers {

// Everything that is known before the compile, but for what it will read.
struct Question {
    Request request;
    std::string label{};
    watch::Places places{};
    std::string why_past_the_cache{};  // not empty: it is compiled without the cache
    // Of every result, beside its conditions: what has others is no result of this question, whoever says so. Empty:
    // any.
    std::vector<std::string> sections{};
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
    Key key{};  // of the result, if it did not go past the cache
};

// `compile` may still run after its caller has left, as with Cache::get_or_compile().
Result<Answer> answer(Cache& cache, const Question& question, std::function<Result<Watched>()> compile,
                      GetOptions options = {});

// What answer() would find now. Nothing is compiled or counted.
struct Known {
    Lookup result{};    // null: none that holds here
    Key key{};          // of the result
    std::string why{};  // there is none: what is different from the newest that is known; empty: none is known
    Lookup nearest{};   // that one's result
};
Known look_up(Cache& cache, const Question& question);

// Whether answer() would hit, and if not, what is different from the nearest entry.
Explanation explain(Cache& cache, const Question& question);

// The section of a result that has its conditions.
inline constexpr std::string_view k_conditions_section = "hearth.conditions";
// The conditions that a result carries. None if it carries none.
std::optional<std::vector<watch::Condition>> conditions_of(const Artifact& result);

// The question's results, one after the other, as far as this cache holds them.
void for_each_result(Cache& cache, const Key& question, const std::function<void(const Key&, const Lookup&)>& visit);

}  // namespace hearth::compilers
