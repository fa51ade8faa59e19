// The limit line: XPBD distance rows by colour, by hand, on the arrays that the engine itself uses.
//
// x holds positions and inverse mass (4 floats a particle); rows are sorted by colour. One parallel region per step;
// the barrier at the end of each "omp for" separates the colours.

#include <cmath>
#include <cstdint>

struct Sheet {
    int64_t particles, colours;
    const int64_t *offsets;
    const uint32_t *rows;
    const float *rest, *compliance;
    float *multipliers, *x, *previous, *v;
};

static inline void project(const Sheet &s, int64_t r, float scale) {
    float *a = s.x + 4 * int64_t(s.rows[2 * r]), *b = s.x + 4 * int64_t(s.rows[2 * r + 1]);
    const float dx = a[0] - b[0], dy = a[1] - b[1], dz = a[2] - b[2];
    const float length = std::sqrt(dx * dx + dy * dy + dz * dz), w = a[3] + b[3];
    const float inverse = length > 0.0f ? 1.0f / length : 0.0f;
    const float below = w + s.compliance[r] * scale;
    const float change = below > 0.0f ? (s.rest[r] - length) / below : 0.0f;
    s.multipliers[r] = change;
    const float p = a[3] * change * inverse, q = b[3] * change * inverse;
    a[0] += p * dx, a[1] += p * dy, a[2] += p * dz;
    b[0] -= q * dx, b[1] -= q * dy, b[2] -= q * dz;
}

static inline void sweep_rows(const Sheet &s, float scale) {
    for (int64_t c = 0; c < s.colours; ++c) {
#pragma omp for schedule(static)
        for (int64_t r = s.offsets[c]; r < s.offsets[c + 1]; ++r) project(s, r, scale);
    }
}

extern "C" void sweep(const Sheet *sheet, float h) {
    const Sheet s = *sheet;
#pragma omp parallel
    sweep_rows(s, 1.0f / (h * h));
}

extern "C" void step(const Sheet *sheet, float h, float gravity, int substeps) {
    const Sheet s = *sheet;
    const float inverse_h = 1.0f / h, kick = -gravity * h;
#pragma omp parallel
    for (int substep = 0; substep < substeps; ++substep) {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < s.particles; ++i) {
            float *x = s.x + 4 * i, *v = s.v + 3 * i, *old = s.previous + 3 * i;
            if (x[3] > 0.0f) v[1] += kick;
            for (int k = 0; k < 3; ++k) old[k] = x[k], x[k] += h * v[k];
        }
        sweep_rows(s, 1.0f / (h * h));
#pragma omp for schedule(static)
        for (int64_t i = 0; i < s.particles; ++i)
            for (int k = 0; k < 3; ++k) s.v[3 * i + k] = (s.x[4 * i + k] - s.previous[3 * i + k]) * inverse_h;
    }
}
