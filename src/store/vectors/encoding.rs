//! Encodes vectors as bytes and signs. Pure.

/// Returns the vector of length 1 in the same direction; `None` if the vector is zero or not finite.
pub(super) fn unit(vector: &[f32]) -> Option<Vec<f32>> {
    // Divide by the largest number first, so that no square overflows.
    let largest = vector.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    if !vector.iter().all(|x| x.is_finite()) || largest == 0.0 {
        return None;
    }
    let scaled: Vec<f32> = vector.iter().map(|x| x / largest).collect();
    let length = scaled.iter().map(|x| x * x).sum::<f32>().sqrt();
    Some(scaled.into_iter().map(|x| x / length).collect())
}

/// Encodes a vector with one signed byte per dimension, the largest being ±127. Its length is lost: cosines do not need
/// it.
///
/// In 384 dimensions, the error of a cosine with such a vector is less than 0.002 (a test measures it).
pub(in crate::store) fn encode(vector: &[f32]) -> Vec<u8> {
    let largest = vector.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    vector.iter().map(|x| ((x / largest * 127.0).round() as i8).cast_unsigned()).collect()
}

/// Decodes a stored vector to numbers in the same direction.
pub(in crate::store) fn decode(code: &[u8]) -> Vec<f32> {
    code.iter().map(|byte| f32::from(byte.cast_signed())).collect()
}

/// Returns the cosine of the angle between a vector of length 1 and a stored one, from -1 to 1.
pub(in crate::store) fn cosine(unit: &[f32], code: &[u8]) -> f32 {
    let (mut dot, mut square) = (0.0_f32, 0_i32);
    for (x, byte) in unit.iter().zip(code) {
        let y = byte.cast_signed();
        dot += x * f32::from(y);
        square += i32::from(y) * i32::from(y);
    }
    if square == 0 { 0.0 } else { (dot / (square as f32).sqrt()).clamp(-1.0, 1.0) }
}

/// Returns one bit per dimension: whether the number is positive. The last byte is padded with zeros.
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
        assert!(cosine(&unit(&vector).unwrap(), &encode(&decode(&encode(&vector)))) > 0.999);
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
        assert_eq!(signs(&encode(&[0.5, -0.5, 0.0, 1.0, 0.2, 0.2, 0.2, 0.2, -1.0])), [0b1111_1001, 0]);
    }

    proptest! {
        #[test]
        fn cosines_survive_the_bytes(
            a in prop::collection::vec(-1.0_f32..1.0, 384),
            b in prop::collection::vec(-1.0_f32..1.0, 384),
        ) {
            let of_a = unit(&a).unwrap();
            prop_assert!((cosine(&of_a, &encode(&b)) - exact(&a, &b)).abs() < 0.002);
            prop_assert!(cosine(&of_a, &encode(&a)) > 0.999);
        }
    }
}
