#pragma once

#include <string>
#include <vector>

namespace demo {

// Numbers that are easy to check: the same on every machine.
std::vector<float> numbers(std::size_t count, unsigned seed);

bool close_to(const std::vector<float>& got, const std::vector<float>& wanted);

std::vector<float> sums(const std::vector<float>& a, const std::vector<float>& b);
std::vector<float> product(const std::vector<float>& a, const std::vector<float>& b, int n);
std::vector<float> softmax(const std::vector<float>& x, int columns);
std::vector<float> running_sums(const std::vector<float>& x);
float sum(const std::vector<float>& x);

// The source of a kernel of this demo.
std::string kernel_source(const std::string& file);
std::string kernel_path(const std::string& file);

}  // namespace demo
