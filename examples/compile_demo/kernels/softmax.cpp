// Row-wise softmax and the attention built on it, in one pass over each row (the running maximum rescales the sum).
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

template <class T>
struct Running {
    T maximum = -std::numeric_limits<T>::infinity();
    T sum = 0;

    void add(T value)
    {
        const T higher = std::max(maximum, value);
        sum = sum * std::exp(maximum - higher) + std::exp(value - higher);
        maximum = higher;
    }
};

template <class T>
void softmax(std::span<T> row)
{
    Running<T> running;
    for (const T value : row)
        running.add(value);
    std::transform(row.begin(), row.end(), row.begin(),
                   [&](T value) { return std::exp(value - running.maximum) / running.sum; });
}

template <class T>
void softmax_rows(std::span<T> matrix, std::size_t columns)
{
    if (columns == 0 || matrix.size() % columns != 0)
        throw std::invalid_argument(std::to_string(matrix.size()) + " values do not make rows of " +
                                    std::to_string(columns));
    for (std::size_t start = 0; start < matrix.size(); start += columns)
        softmax(matrix.subspan(start, columns));
}

// softmax(Q K^T / sqrt(D)) V for one head of D dimensions, never holding the whole score matrix.
template <class T, std::size_t D>
std::vector<T> attention(std::span<const T> queries, std::span<const T> keys, std::span<const T> values)
{
    const T scale = 1 / std::sqrt(static_cast<T>(D));
    std::vector<T> result(queries.size());
    for (std::size_t q = 0; q < queries.size(); q += D) {
        Running<T> running;
        T* out = result.data() + q;
        for (std::size_t k = 0; k < keys.size(); k += D) {
            const T score = scale * std::inner_product(&queries[q], &queries[q] + D, &keys[k], T{});
            const T before = running.maximum;
            running.add(score);
            const T fade = std::exp(before - running.maximum);
            const T weight = std::exp(score - running.maximum);
            for (std::size_t d = 0; d < D; ++d)
                out[d] = out[d] * fade + weight * values[k + d];
        }
        std::transform(out, out + D, out, [&](T value) { return value / running.sum; });
    }
    return result;
}

template void softmax_rows<float>(std::span<float>, std::size_t);
template void softmax_rows<double>(std::span<double>, std::size_t);

template <class T>
using Attention = std::function<std::vector<T>(std::span<const T>, std::span<const T>, std::span<const T>)>;

Attention<float> attention_of(std::size_t dimensions)
{
    switch (dimensions) {
    case 32:
        return attention<float, 32>;
    case 64:
        return attention<float, 64>;
    case 128:
        return attention<float, 128>;
    default:
        throw std::invalid_argument("no head of " + std::to_string(dimensions) +
                                    " dimensions; there are 32, 64 and 128");
    }
}
