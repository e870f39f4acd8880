#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hearth::fuzz {

// SplitMix64: as random as damage needs to be, and free to start anew for every input.
class Random {
public:
    explicit Random(std::uint64_t seed) : m_state(seed) {}

    std::uint64_t operator()()
    {
        m_state += 0x9E3779B97F4A7C15U;
        std::uint64_t bits = m_state;
        bits = (bits ^ (bits >> 30U)) * 0xBF58476D1CE4E5B9U;
        bits = (bits ^ (bits >> 27U)) * 0x94D049BB133111EBU;
        return bits ^ (bits >> 31U);
    }

private:
    std::uint64_t m_state;
};

// Makes inputs from a corpus: those of the corpus as they are, then damaged ones. Input number n of a seed is always
// the same, so that a failure can be made again from the two numbers.
class Mutator {
public:
    Mutator(std::vector<std::string> corpus, std::uint64_t seed) : m_corpus(std::move(corpus)), m_seed(seed) {}

    std::uint64_t corpus_size() const { return m_corpus.size(); }
    std::string input(std::uint64_t number) const;

private:
    const std::string& any_of_corpus(Random& random) const { return m_corpus[random() % m_corpus.size()]; }
    void mutate(std::string& bytes, Random& random) const;

    static constexpr std::size_t k_most_bytes = 1 << 16;

    std::vector<std::string> m_corpus;
    std::uint64_t m_seed;
};

}  // namespace hearth::fuzz
