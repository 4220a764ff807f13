//! Maps from file names.

use std::collections::HashMap;
use std::rc::Rc;

/// A map from file names. Every step of every path looks into one, so it hashes faster than the
/// standard library's maps; it is seeded anew in every sandbox, so that names that collide cannot be
/// known beforehand.
pub type NameMap<T> = HashMap<Rc<[u8]>, T, foldhash::fast::RandomState>;
