"""What two clusterings of given sizes would share by chance: moments of hypergeometric counts.

Rows are dealt at random, so that a cluster of a rows and one of b rows, of n in all, share x rows with hypergeometric
probability; their mean is mu = a b / n. A cell of the table adds g(x) = x log(x / mu) - x + mu to n times the mutual
information (what is linear in x cancels over the table, whose margins are fixed).

E[g] is a sum over all x where mu is small. Where it is large, g is a polynomial of degree 9 in x - mu but for a rest
between 0 and (x - mu)^10 / (9 mu^9), since mu phi(t) with phi(t) = (1 + t) log(1 + t) - t has the rest
t^10 int_0^1 (1 - u) u^8 / (1 + u t) du, which falls with t and is t^10 / 9 at t = -1. So E[g] follows from central
moments, with an error of at most m_10 / (9 mu^9), below 111 / mu^4 from mu = 200 on (m_10 is at most that of a Poisson
variable of the same mean: less than 993 mu^5 there).
"""

import numpy as np

from quorate._kernels._jit import jit

# A table has at most n / mu cells of mean mu, so the error of its expected mutual information is below 4e-10.
LARGE_MEAN = 200.0
DEGREE = 10
_NEGLIGIBLE = 1e-17
_LOGS = np.log(np.maximum(np.arange(1 << 12), 1.0))  # of whole numbers; 0 log 0 = 0


@jit
def central_moments(a, b, n):
    """Return the central moments 0 to 10 of how many of b rows, drawn out of n, are among a given ones.

    The ratio of neighboring probabilities gives (n - r) m_{r+1} as a sum over the moments up to m_r.
    """
    mu = a * b / n
    product = (a - mu) * (b - mu)
    spread = a + b - 2.0 * mu
    moments = np.zeros(DEGREE + 1)
    moments[0] = 1.0
    for r in range(1, DEGREE):
        total = 0.0
        choose = 1.0  # r over i
        for i in range(r):
            total += choose * (product * moments[i] - spread * moments[i + 1])
            if i < r - 1:
                total += choose * moments[i + 2]
            choose = choose * (r - i) / (i + 1)
        moments[r + 1] = total / (n - r)
    return moments


@jit
def by_moments(a, b, n):
    """Return mean and variance of g, by central moments; the variance by what does not vanish faster than 1 / mu."""
    mu = a * b / n
    m = central_moments(a, b, n)
    mean, power = 0.0, -1.0
    for j in range(2, DEGREE + 1):
        # Terms alternate in sign: power = (-1)^j mu^(j - 1).
        power *= -mu
        mean += m[j] / (j * (j - 1) * power)
    of_squares = (m[4] - m[2] ** 2) / (4 * mu**2)
    of_cubes = (m[6] - m[3] ** 2) / (36 * mu**4) - (m[5] - m[2] * m[3]) / (6 * mu**3)
    return mean, of_squares + of_cubes + (m[6] - m[2] * m[4]) / (12 * mu**4)


@jit
def by_sum(a, b, n):
    """Return mean and variance of g, by its sum over all counts of any probability, from the likeliest on.

    Sizes need not be whole: between whole numbers it goes on smoothly.
    """
    # Start at the mode, where the probability is largest, and go outwards until terms no longer count.
    low, high = np.ceil(max(0.0, a + b - n)), np.floor(min(a, b))
    mode = max(min(np.floor((a + 1.0) * (b + 1.0) / (n + 2.0)), high), low)
    mu = a * b / n
    log_mu = np.log(mu)
    outside = n - a - b
    total = linear = squares = 0.0
    x, p = mode, 1.0  # relative to the mode; normalized at the end
    while p > _NEGLIGIBLE:
        log = _LOGS[int(x)] if x < len(_LOGS) else np.log(x)
        g = x * (log - log_mu) - x + mu
        total += p
        linear += p * g
        squares += p * g * g
        if x >= high:
            break
        p *= (a - x) * (b - x) / ((x + 1.0) * (outside + x + 1.0))
        x += 1.0
    # The same downwards, with the inverse ratio of probabilities.
    x, p = mode, 1.0
    while x > low:
        p *= x * (outside + x) / ((a - x + 1.0) * (b - x + 1.0))
        x -= 1.0
        if p <= _NEGLIGIBLE:
            break
        log = _LOGS[int(x)] if x < len(_LOGS) else np.log(x)
        g = x * (log - log_mu) - x + mu
        total += p
        linear += p * g
        squares += p * g * g
    mean = linear / total
    return mean, max(squares / total - mean**2, 0.0)


@jit
def chance(a, b, n):
    """Return mean and variance of g for clusters of a and b rows out of n."""
    if a <= 0.0 or b <= 0.0 or n <= 1.0:
        return 0.0, 0.0
    # The expansion needs a large mean; small means are summed exactly, which is cheap for them.
    if a * b / n >= LARGE_MEAN and n > DEGREE:
        return by_moments(a, b, n)
    return by_sum(a, b, n)


@jit
def chance_of_sizes(sizes, n, start, stop, mean, variance):
    """Write rows start..stop of the lower triangles of mean and variance of g for every two of some sizes.

    The diagonal is halved: a triangle and its transpose add up to the whole.

    mean, variance : (stop - start, sizes) float64
    """
    # Only one triangle: the table is symmetric in both sizes.
    for i in range(start, stop):
        for j in range(i + 1):
            mean[i - start, j], variance[i - start, j] = chance(sizes[i], sizes[j], n)
        mean[i - start, i] /= 2.0
        variance[i - start, i] /= 2.0


@jit
def distinct(values):
    """Return the distinct positive values, ascending, and how often each occurs."""
    ordered = np.sort(values)
    uniques, times = np.empty(len(values)), np.zeros(len(values))
    n = 0
    for value in ordered:
        if value <= 0.0:
            continue
        if n == 0 or uniques[n - 1] != value:
            uniques[n] = value
            n += 1
        times[n - 1] += 1.0
    return uniques[:n], times[:n]


@jit
def chance_of_members(coverage, offsets, common, pairs, start, stop, mean, variance):
    """Write mean and variance of n times mutual information for some pairs of members, over the rows both label.

    coverage : (n_clusters, M) rows of each cluster that each member labels
    offsets : (M + 1,) first cluster of each member
    common : (M, M) rows that both label
    pairs : (p, 2); mean, variance : (p,)
    """
    for e in range(start, stop):
        i, j = pairs[e]
        # Clusters of equal size share one computation.
        rows, times = distinct(coverage[offsets[i] : offsets[i + 1], j])
        columns, occurs = distinct(coverage[offsets[j] : offsets[j + 1], i])
        for r in range(len(rows)):
            for c in range(len(columns)):
                cell_mean, cell_variance = chance(rows[r], columns[c], common[i, j])
                mean[e] += times[r] * occurs[c] * cell_mean
                variance[e] += times[r] * occurs[c] * cell_variance
