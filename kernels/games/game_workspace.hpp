// Buffers of matrix_game.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "simd/aligned_buffer.hpp"

namespace credalens {
namespace {

// Scratch memory of one thread for games of one shape. The two sides of a game are named by their
// length: the short side are the columns of the tableau, the variables x of the linear program; the
// long side are its rows, the constraints, which are contiguous. Arrays of double are padded to
// whole vectors.
struct GameWorkspace {
    GameWorkspace(int M, int K)
        : swapped(M > K), columns(std::min(M, K)), length(std::max(M, K)),
          pitch(padded_size(length)), stride(pitch), across_(padded_size(columns + 1)),
          numbers_(static_cast<std::size_t>(pitch) * (columns + across_ + 3) +
                   4 * static_cast<std::size_t>(across_)),
          indices_(static_cast<std::size_t>(length) * 5 + columns) {
        double* number = numbers_.data();
        const auto numbers = [&](std::size_t size) { return std::exchange(number, number + size); };
        game = numbers(static_cast<std::size_t>(pitch) * columns);
        tableau = numbers(static_cast<std::size_t>(pitch) * across_);
        image = numbers(pitch);
        by_row = numbers(pitch);
        reduced_costs = numbers(across_);
        x = numbers(across_);
        u = numbers(across_);
        double* short_side = numbers(across_);
        double* long_side = numbers(pitch);
        weights = swapped ? long_side : short_side;
        dual = swapped ? short_side : long_side;
        int* index = indices_.data();
        const auto indices = [&](int size) { return std::exchange(index, index + size); };
        row_index = indices(length);
        basic = indices(length);
        in_use = indices(length);
        list = indices(2 * length);
        nonbasic = indices(columns);
    }
    GameWorkspace(const GameWorkspace&) = delete;
    GameWorkspace& operator=(const GameWorkspace&) = delete;

    const bool swapped;  // M > K: columns are classes, rows are members
    const int columns;   // min(M, K)
    const int length;    // max(M, K)
    const int pitch;     // length, padded

    double* game;                    // (columns, pitch): A, or its transpose if swapped, in float64
    double shift = 0.0, sign = 1.0;  // the coefficients of the program are shift + sign * game
    double* image;                   // (pitch): combination of the columns of the game by x

    double* tableau;        // (columns + 1, stride): nonbasic columns and right-hand side
    double* reduced_costs;  // (columns + 1): of the nonbasic columns; a positive one improves
    int stride;             // grows with the number of rows in use, up to pitch
    int rows = 0;           // rows in use: all of them, or those generated so far
    int* row_index;         // (length): tableau row -> row of the game
    int* nonbasic;          // (columns): variable of each tableau column; x_j is j
    int* basic;             // (length): variable of each tableau row; slack r is columns + r
    int* list;              // (2 length): scratch memory
    int* in_use;            // (length): whether a row of the game is in the tableau

    double* x;       // (columns): primal distribution of the last basis
    double* u;       // (columns): dual distribution, by tableau column
    double* by_row;  // (pitch): dual distribution, by row of the game

    double upper = 0.0, lower = 0.0;  // best certified bounds so far, attained by
    double* weights;                  // (M) and
    double* dual;                     // (K)

private:
    const int across_;  // columns + 1, padded
    // Two allocations, since many would take longer than a small game.
    AlignedBuffer numbers_;
    std::vector<int> indices_;
};

}  // namespace
}  // namespace credalens
