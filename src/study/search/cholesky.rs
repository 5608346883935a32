//! Systems of linear equations with a symmetric, positive definite matrix.

/// Such a matrix as the product of a lower triangular one with its transpose.
///
/// # Source
///
/// Golub and Van Loan, Matrix Computations, section 4.2.
#[derive(Clone, Debug)]
pub(super) struct Cholesky {
    /// Row by row.
    lower: Vec<f64>,
    size: usize,
}

impl Cholesky {
    /// Factors a matrix, of which the lower half is read, row by row; none if it is not positive definite.
    pub(super) fn of(matrix: &[f64], size: usize) -> Option<Self> {
        let mut lower = vec![0.0; size * size];
        for row in 0..size {
            for column in 0..=row {
                let (of_row, of_column) = (&lower[row * size..][..column], &lower[column * size..][..column]);
                let inner: f64 = of_row.iter().zip(of_column).map(|(a, b)| a * b).sum();
                let rest = matrix[row * size + column] - inner;
                lower[row * size + column] = match row == column {
                    true if rest > 0.0 => rest.sqrt(),
                    true => return None,
                    false => rest / lower[column * size + column],
                };
            }
        }
        Some(Self { lower, size })
    }

    /// The solution of the equations of the lower triangle alone.
    pub(super) fn half_solved(&self, right: &[f64]) -> Vec<f64> {
        let mut found: Vec<f64> = Vec::with_capacity(self.size);
        for (row, value) in right.iter().enumerate() {
            let of_row = &self.lower[row * self.size..];
            let inner: f64 = of_row[..row].iter().zip(&found).map(|(a, b)| a * b).sum();
            found.push((value - inner) / of_row[row]);
        }
        found
    }

    /// The solution.
    pub(super) fn solved(&self, right: &[f64]) -> Vec<f64> {
        let mut found = self.half_solved(right);
        for row in (0..self.size).rev() {
            let below: f64 = (row + 1..self.size).map(|other| self.lower[other * self.size + row] * found[other]).sum();
            found[row] = (found[row] - below) / self.lower[row * self.size + row];
        }
        found
    }

    /// The logarithm of the determinant.
    pub(super) fn log_determinant(&self) -> f64 {
        (0..self.size).map(|row| 2.0 * libm::log(self.lower[row * self.size + row])).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_solved_gives_the_right_side_again() {
        let matrix = [4.0, 2.0, 0.6, 2.0, 5.0, 1.0, 0.6, 1.0, 3.0];
        let found = Cholesky::of(&matrix, 3).expect("positive definite");
        let solution = found.solved(&[1.0, 2.0, 3.0]);
        for (row, expected) in matrix.chunks(3).zip([1.0, 2.0, 3.0]) {
            let right: f64 = row.iter().zip(&solution).map(|(a, b)| a * b).sum();
            assert!((right - expected).abs() < 1e-12, "{solution:?}");
        }
        // 4 (15 - 1) - 2 (6 - 0.6) + 0.6 (2 - 3).
        assert!((found.log_determinant() - libm::log(44.6)).abs() < 1e-12);
        assert!(Cholesky::of(&[1.0, 2.0, 2.0, 1.0], 2).is_none());
    }
}
