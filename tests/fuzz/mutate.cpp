#include "fuzz/mutate.hpp"

#include <algorithm>

namespace hearth::fuzz {

namespace {

std::size_t place_in(const std::string& bytes, Random& random)
{
    return bytes.empty() ? 0 : random() % bytes.size();
}

// Few bytes more often than many.
std::size_t some_length(std::size_t most, Random& random)
{
    const std::size_t bound = std::size_t{1} << (random() % 8);
    return most == 0 ? 0 : 1 + random() % std::min(most, bound);
}

// A number at which lengths and counts go wrong, a power of two or beside one, in a width that they have.
std::string interesting_number(Random& random)
{
    const std::uint64_t power = std::uint64_t{1} << (random() % 64);
    const std::uint64_t number = (random() % 8 == 0 ? 0 : power) + random() % 3 - 1;
    std::string bytes(std::size_t{1} << (random() % 4), '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<char>(number >> (8 * i));
    return bytes;
}

}  // namespace

void Mutator::mutate(std::string& bytes, Random& random) const
{
    const std::size_t at = place_in(bytes, random);
    const std::size_t rest = bytes.size() - at;
    switch (random() % 10) {
    case 0:
        if (!bytes.empty())
            bytes[at] = static_cast<char>(bytes[at] ^ (1 << (random() % 8)));
        break;
    case 1:
        if (!bytes.empty())
            bytes[at] = static_cast<char>(random());
        break;
    case 2:
        if (!bytes.empty())
            bytes[at] = static_cast<char>(bytes[at] + static_cast<int>(random() % 9) - 4);
        break;
    case 3: {
        const std::string number = interesting_number(random);
        bytes.replace(at, std::min(rest, number.size()), number);
        break;
    }
    case 4:
        bytes.insert(at, some_length(200, random), static_cast<char>(random()));
        break;
    case 5:
        bytes.erase(at, some_length(rest, random));
        break;
    case 6:
        bytes.insert(at, bytes.substr(place_in(bytes, random), some_length(bytes.size(), random)));
        break;
    case 7: {
        const std::string& other = any_of_corpus(random);
        bytes.insert(at, other.substr(place_in(other, random), some_length(other.size(), random)));
        break;
    }
    case 8: {
        const std::string& other = any_of_corpus(random);
        bytes = bytes.substr(0, at) + other.substr(std::min(at, other.size()));
        break;
    }
    default:
        bytes.resize(at);
        break;
    }
    bytes.resize(std::min(bytes.size(), k_most_bytes));
}

std::string Mutator::input(std::uint64_t number) const
{
    if (number < m_corpus.size())
        return m_corpus[number];
    Random random(Random(m_seed)() ^ number);
    std::string bytes = any_of_corpus(random);
    for (std::uint64_t left = 1 + random() % 5; left > 0; --left)
        mutate(bytes, random);
    return bytes;
}

}  // namespace hearth::fuzz
