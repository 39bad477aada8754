// A trial of a C++ program that does nothing: it needs the C++ library, and reports an objective.

#include <iostream>

int main() { std::cout << "FoM: 1" << std::endl; }
