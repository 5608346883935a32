//! The special functions that sampling needs, on top of `libm` alone: equal bits on every machine.

use std::f64::consts::SQRT_2;

/// The 99th percentile of the standard normal distribution.
pub(super) const NORMAL_P99: f64 = 2.326_347_874_040_841;

/// The value below which a standard normal variable stays with probability `p`; infinite at 0 and 1.
///
/// Rational approximations of degree 7 in three regions, with a relative error near 1e-16.
///
/// # Source
///
/// M. J. Wichura, algorithm AS 241 (PPND16), Applied Statistics 37 (1988).
pub(super) fn normal_quantile(p: f64) -> f64 {
    if p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * polynomial(&CENTER.0, r) / polynomial(&CENTER.1, r);
    }
    let r = libm::sqrt(-libm::log(if q < 0.0 { p } else { 1.0 - p }));
    let magnitude = if r <= 5.0 {
        polynomial(&NEAR.0, r - 1.6) / polynomial(&NEAR.1, r - 1.6)
    } else {
        polynomial(&FAR.0, r - 5.0) / polynomial(&FAR.1, r - 5.0)
    };
    if q < 0.0 { -magnitude } else { magnitude }
}

/// Coefficients of a numerator and a denominator, the constant first.
type Ratio = ([f64; 8], [f64; 8]);

#[rustfmt::skip]
#[allow(clippy::excessive_precision, reason = "as published")]
const CENTER: Ratio = (
    [
        3.387_132_872_796_366_608_0e0, 1.331_416_678_917_843_774_5e2, 1.971_590_950_306_551_442_7e3,
        1.373_169_376_550_946_112_5e4, 4.592_195_393_154_987_145_7e4, 6.726_577_092_700_870_085_3e4,
        3.343_057_558_358_812_810_5e4, 2.509_080_928_730_122_672_7e3,
    ],
    [
        1.0, 4.231_333_070_160_091_125_2e1, 6.871_870_074_920_579_083_0e2, 5.394_196_021_424_751_107_7e3,
        2.121_379_430_158_659_586_7e4, 3.930_789_580_009_271_061_0e4, 2.872_908_573_572_194_267_4e4,
        5.226_495_278_852_854_561_0e3,
    ],
);

#[rustfmt::skip]
#[allow(clippy::excessive_precision, reason = "as published")]
const NEAR: Ratio = (
    [
        1.423_437_110_749_683_577_34e0, 4.630_337_846_156_545_295_90e0, 5.769_497_221_460_691_405_50e0,
        3.647_848_324_763_204_605_04e0, 1.270_458_252_452_368_382_58e0, 2.417_807_251_774_506_117_70e-1,
        2.272_384_498_926_918_458_33e-2, 7.745_450_142_783_414_076_40e-4,
    ],
    [
        1.0, 2.053_191_626_637_758_821_87e0, 1.676_384_830_183_803_849_40e0, 6.897_673_349_851_000_045_50e-1,
        1.481_039_764_274_800_745_90e-1, 1.519_866_656_361_645_719_66e-2, 5.475_938_084_995_344_946_00e-4,
        1.050_750_071_644_416_843_24e-9,
    ],
);

#[rustfmt::skip]
#[allow(clippy::excessive_precision, reason = "as published")]
const FAR: Ratio = (
    [
        6.657_904_643_501_103_777_20e0, 5.463_784_911_164_114_369_90e0, 1.784_826_539_917_291_335_80e0,
        2.965_605_718_285_048_912_30e-1, 2.653_218_952_657_612_309_30e-2, 1.242_660_947_388_078_438_60e-3,
        2.711_555_568_743_487_578_15e-5, 2.010_334_399_292_288_132_65e-7,
    ],
    [
        1.0, 5.998_322_065_558_879_376_90e-1, 1.369_298_809_227_358_053_10e-1, 1.487_536_129_085_061_485_25e-2,
        7.868_691_311_456_132_591_00e-4, 1.846_318_317_510_054_681_80e-5, 1.421_511_758_316_445_888_70e-7,
        2.044_263_103_389_939_785_64e-15,
    ],
);

fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

/// The gamma distribution's cumulative distribution function at `x`, for scale 1.
pub(super) fn gamma_cdf(shape: f64, x: f64) -> f64 {
    gamma_sides(shape, x).0
}

/// The probability that a gamma variable of scale 1 is above `x`, to full precision also where it is tiny.
pub(super) fn gamma_survival(shape: f64, x: f64) -> f64 {
    gamma_sides(shape, x).1
}

/// From this shape on a gamma distribution is a normal one of cube roots to eight digits, and its series takes thousands of terms.
const IS_NORMAL: f64 = 1e7;

/// The probabilities below and above `x`.
///
/// # Source
///
/// Of large shapes: Wilson and Hilferty, The distribution of chi-square, Proceedings of the National Academy of Sciences 17 (1931).
pub(super) fn gamma_sides(shape: f64, x: f64) -> (f64, f64) {
    if x <= 0.0 {
        return (0.0, 1.0);
    }
    if x == f64::INFINITY {
        return (1.0, 0.0);
    }
    if shape > IS_NORMAL {
        let root = libm::cbrt(x / shape) - (1.0 - 1.0 / (9.0 * shape));
        let z = 3.0 * root * shape.sqrt();
        return (normal_cdf(z), normal_cdf(-z));
    }
    let front = libm::exp(shape * libm::log(x) - x - libm::lgamma(shape));
    if x < shape + 1.0 {
        // A power series, which converges fast below the mean.
        let (mut term, mut sum, mut n) = (1.0 / shape, 1.0 / shape, shape);
        while term > sum * 1e-17 {
            n += 1.0;
            term *= x / n;
            sum += term;
        }
        let below = (front * sum).min(1.0);
        return (below, 1.0 - below);
    }
    // Beyond it the complement as a continued fraction, evaluated from the front.
    let mut b = x + 1.0 - shape;
    let mut c = f64::MAX;
    let mut d = 1.0 / b;
    let mut product = d;
    for i in 1..10_000 {
        let i = f64::from(i);
        let a = -i * (i - shape);
        b += 2.0;
        d = 1.0 / nonzero(a * d + b);
        c = nonzero(b + a / c);
        product *= d * c;
        if (d * c - 1.0).abs() < 1e-16 {
            break;
        }
    }
    (1.0 - front * product, front * product)
}

/// The value below which a gamma variable of scale 1 stays with probability `p`, to about ten digits.
///
/// Newton's method on the cumulative distribution function, kept inside a bracket that every step narrows.
pub(super) fn gamma_quantile(shape: f64, p: f64) -> f64 {
    if p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    let mut x = gamma_quantile_guess(shape, p);
    let (mut low, mut high) = (0.0_f64, f64::INFINITY);
    for _ in 0..200 {
        let error = gamma_cdf(shape, x) - p;
        if error < 0.0 {
            low = x
        } else {
            high = x
        }
        let density = libm::exp((shape - 1.0) * libm::log(x) - x - libm::lgamma(shape));
        let newton = x - error / density;
        let next = if newton > low && newton < high {
            newton
        } else if high.is_infinite() {
            2.0 * x
        } else {
            0.5 * (low + high)
        };
        // The second condition ends tiny results of tiny shapes, where no time can be told from zero.
        if (next - x).abs() <= 1e-12 * x || next < 1e-300 {
            return next;
        }
        x = next;
    }
    x
}

/// A first guess: the cube of a normal variable (Wilson and Hilferty), or the leading power of x near zero.
fn gamma_quantile_guess(shape: f64, p: f64) -> f64 {
    let spread = 1.0 / (9.0 * shape);
    let root = 1.0 - spread + normal_quantile(p) * libm::sqrt(spread);
    let cube = shape * root * root * root;
    if root > 0.0 && cube > 0.1 * shape {
        return cube;
    }
    libm::exp((libm::log(p) + libm::lgamma(shape + 1.0)) / shape).max(1e-300)
}

/// The probability that a standard normal variable stays below `x`.
pub(crate) fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x / SQRT_2)
}

fn nonzero(value: f64) -> f64 {
    if value.abs() < 1e-300 { 1e-300 } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gamma_distribution_of_large_shape_goes_on_where_its_series_ends() {
        for deviations in [-3.0, -1.0, 0.0, 0.5, 2.0, 4.0] {
            let sides = |shape: f64| gamma_sides(shape, shape + deviations * shape.sqrt());
            let (series, normal) = (sides(IS_NORMAL), sides(IS_NORMAL * (1.0 + 1e-12)));
            assert!((series.0 - normal.0).abs() < 1e-7 && (series.1 - normal.1).abs() < 1e-7, "{series:?} {normal:?}");
        }
        assert!((gamma_sides(1e15, 1e15).0 - 0.5).abs() < 1e-6);
    }

    #[test]
    fn the_normal_quantile_inverts_the_distribution_function() {
        let mut p = 1e-300;
        while p < 0.5 {
            let x = normal_quantile(p);
            assert!((normal_cdf(x) / p - 1.0).abs() < 1e-11, "p = {p}: {x}");
            p *= 1.7;
        }
        for i in 1..1000 {
            let p = f64::from(i) / 1000.0;
            assert!((normal_cdf(normal_quantile(p)) - p).abs() < 1e-14, "p = {p}");
        }
        assert!((normal_quantile(0.99) - NORMAL_P99).abs() < 1e-14);
        assert_eq!(normal_quantile(0.5), 0.0);
        assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
    }

    #[test]
    fn the_gamma_quantile_inverts_the_distribution_function() {
        for shape in [0.05, 0.3, 1.0, 2.5, 17.0, 400.0, 100_000.0] {
            for p in [1e-12, 1e-4, 0.01, 0.3, 0.5, 0.9, 0.999, 1.0 - 1e-10] {
                let x = gamma_quantile(shape, p);
                // The smallest quantiles of the smallest shapes are below all numbers.
                if x > 1e-290 {
                    let error = (gamma_cdf(shape, x) - p).abs() / p.min(1.0 - p);
                    assert!(error < 1e-5, "shape {shape}, p {p}: {x}, error {error}");
                }
            }
        }
        // With shape 1 it is the exponential distribution.
        assert!((gamma_quantile(1.0, 0.5) - std::f64::consts::LN_2).abs() < 1e-12);
        // Half the 95th percentile of chi-squared with ten degrees of freedom.
        assert!((gamma_quantile(5.0, 0.95) - 18.307_038_053_275_14 / 2.0).abs() < 1e-9);
    }
}
