//! The encoding of vectors. Pure.

/// A vector of length 1 in the same direction; `None` where it has none.
pub(super) fn unit(vector: &[f32]) -> Option<Vec<f32>> {
    // The largest number first, so that no square overflows.
    let largest = vector.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    if !vector.iter().all(|x| x.is_finite()) || largest == 0.0 {
        return None;
    }
    let scaled: Vec<f32> = vector.iter().map(|x| x / largest).collect();
    let length = scaled.iter().map(|x| x * x).sum::<f32>().sqrt();
    Some(scaled.into_iter().map(|x| x / length).collect())
}

/// A vector with one signed byte a dimension, the largest of them ±127. Its length is not kept: cosines do not need it.
///
/// In 384 dimensions, a cosine of two such vectors is off by less than 0.002 (a test measures it).
pub(in crate::store) fn bytes(vector: &[f32]) -> Vec<u8> {
    let largest = vector.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    vector.iter().map(|x| ((x / largest * 127.0).round() as i8).cast_unsigned()).collect()
}

/// A stored vector as numbers, in the same direction.
pub(in crate::store) fn numbers(code: &[u8]) -> Vec<f32> {
    code.iter().map(|byte| f32::from(byte.cast_signed())).collect()
}

/// The cosine of the angle between a vector of length 1 and a stored one, -1 to 1.
pub(in crate::store) fn cosine(unit: &[f32], code: &[u8]) -> f32 {
    let (mut dot, mut square) = (0.0_f32, 0_i32);
    for (x, byte) in unit.iter().zip(code) {
        let y = byte.cast_signed();
        dot += x * f32::from(y);
        square += i32::from(y) * i32::from(y);
    }
    if square == 0 { 0.0 } else { (dot / (square as f32).sqrt()).clamp(-1.0, 1.0) }
}

/// One bit a dimension: whether the number is positive. Whole bytes, the last one filled up with zeros.
pub(super) fn signs(code: &[u8]) -> Vec<u8> {
    code.chunks(8)
        .map(|numbers| {
            numbers.iter().enumerate().fold(0, |bits, (at, byte)| bits | u8::from(byte.cast_signed() > 0) << at)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn exact(a: &[f32], b: &[f32]) -> f32 {
        let (a, b) = (unit(a).unwrap(), unit(b).unwrap());
        a.iter().zip(&b).map(|(x, y)| x * y).sum()
    }

    #[test]
    fn what_is_stored_has_the_direction_of_what_it_was_made_of() {
        let vector = [0.3, -0.4, 0.01];
        assert!(cosine(&unit(&vector).unwrap(), &bytes(&numbers(&bytes(&vector)))) > 0.999);
    }

    #[test]
    fn a_vector_without_a_direction_is_none() {
        assert_eq!(unit(&[0.0, 0.0]), None);
        assert_eq!(unit(&[1.0, f32::NAN]), None);
        assert_eq!(unit(&[f32::INFINITY, 1.0]), None);
        assert_eq!(unit(&[3.0e38, 0.0]), Some(vec![1.0, 0.0]));
    }

    #[test]
    fn signs_are_bits_in_order() {
        assert_eq!(signs(&bytes(&[0.5, -0.5, 0.0, 1.0, 0.2, 0.2, 0.2, 0.2, -1.0])), [0b1111_1001, 0]);
    }

    proptest! {
        #[test]
        fn cosines_survive_the_bytes(
            a in prop::collection::vec(-1.0_f32..1.0, 384),
            b in prop::collection::vec(-1.0_f32..1.0, 384),
        ) {
            let of_a = unit(&a).unwrap();
            prop_assert!((cosine(&of_a, &bytes(&b)) - exact(&a, &b)).abs() < 0.002);
            prop_assert!(cosine(&of_a, &bytes(&a)) > 0.999);
        }
    }
}
