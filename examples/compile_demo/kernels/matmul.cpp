// C += A B in tiles that fit the first-level cache, the tile sizes known to the compiler so that it can unroll them.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

template <class T>
struct Matrix {
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::vector<T> values;

    Matrix(std::size_t r, std::size_t c) : rows(r), columns(c), values(r * c) {}
    T* row(std::size_t r) { return values.data() + r * columns; }
    const T* row(std::size_t r) const { return values.data() + r * columns; }
};

// One tile of C in registers: M rows, N columns.
template <class T, std::size_t M, std::size_t N>
void multiply_tile(const Matrix<T>& a, const Matrix<T>& b, Matrix<T>& c, std::size_t row, std::size_t column)
{
    std::array<std::array<T, N>, M> sum{};
    for (std::size_t k = 0; k < a.columns; ++k) {
        const T* b_row = b.row(k) + column;
        for (std::size_t m = 0; m < M; ++m) {
            const T a_value = a.row(row + m)[k];
            for (std::size_t n = 0; n < N; ++n)
                sum[m][n] += a_value * b_row[n];
        }
    }
    for (std::size_t m = 0; m < M; ++m)
        for (std::size_t n = 0; n < N; ++n)
            c.row(row + m)[column + n] += sum[m][n];
}

template <class T, std::size_t M, std::size_t N>
void multiply(const Matrix<T>& a, const Matrix<T>& b, Matrix<T>& c)
{
    if (a.columns != b.rows || c.rows != a.rows || c.columns != b.columns)
        throw std::invalid_argument("cannot multiply " + std::to_string(a.rows) + "x" + std::to_string(a.columns) +
                                    " by " + std::to_string(b.rows) + "x" + std::to_string(b.columns));
    const std::size_t full_rows = a.rows / M * M;
    const std::size_t full_columns = b.columns / N * N;
    for (std::size_t i = 0; i < full_rows; i += M)
        for (std::size_t j = 0; j < full_columns; j += N)
            multiply_tile<T, M, N>(a, b, c, i, j);
    for (std::size_t i = 0; i < a.rows; ++i)
        for (std::size_t j = i < full_rows ? full_columns : 0; j < b.columns; ++j)
            multiply_tile<T, 1, 1>(a, b, c, i, j);
}

template <class T>
using Multiply = void (*)(const Matrix<T>&, const Matrix<T>&, Matrix<T>&);

// Every tile size there is, for an autotuner to choose from: 1 to 4 rows, and columns in steps of four.
template <class T, std::size_t Rows, std::size_t... Columns>
std::array<Multiply<T>, sizeof...(Columns)> kernels_of_height(std::index_sequence<Columns...>)
{
    return {&multiply<T, Rows, 4 * (Columns + 1)>...};
}

template <class T, std::size_t... Rows, class Columns>
auto all_kernels(std::index_sequence<Rows...>, Columns columns)
{
    return std::array{kernels_of_height<T, Rows + 1>(columns)...};
}

Multiply<float> float_kernel(std::size_t m, std::size_t n)
{
    static const auto kernels = all_kernels<float>(std::make_index_sequence<4>{}, std::make_index_sequence<3>{});
    return kernels.at(m).at(n);
}

Multiply<double> double_kernel(std::size_t m, std::size_t n)
{
    static const auto kernels = all_kernels<double>(std::make_index_sequence<4>{}, std::make_index_sequence<2>{});
    return kernels.at(m).at(n);
}
